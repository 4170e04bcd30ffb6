#include "inspect.h"

#include <cstdio>

#include "json.h"
#include "library.h"

namespace cli {

int inspect(const std::vector<std::string>& arguments) {
  constexpr const char* kUsage = "usage: gesso inspect [--json] [--tensors] FILE...";
  bool json = false, tensors = false, options = true;
  std::vector<const char*> paths;
  for (const std::string& argument : arguments) {
    if (options && (argument == "-h" || argument == "--help")) return std::puts(kUsage) < 0;
    if (options && argument == "--json")
      json = true;
    else if (options && argument == "--tensors")
      tensors = true;
    else if (options && argument == "--")
      options = false;
    else if (options && argument.starts_with('-'))
      throw usage("unknown option '" + argument + "'; " + kUsage);
    else
      paths.push_back(argument.c_str());
  }
  if (paths.empty()) throw usage(std::string("no file; ") + kUsage);

  const EnginePointer engine = open_engine();
  gesso_error error = {};
  auto found = parse_json(take(tensors ? gesso_list_tensors(paths.data(), paths.size(), &error)
                                       : gesso_inspect(engine.get(), paths.data(), paths.size(), &error),
                               error));
  std::string text = found["text"];
  found.erase("text");
  if (json) text = to_text(found, 2);
  if (!text.ends_with('\n')) text += '\n';
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace cli
