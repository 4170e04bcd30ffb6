#include "bench.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "json.h"
#include "library.h"

namespace cli {
namespace {

/// Results as they come: on the standard output, or beside it when that is for the document.
void print_line(const gesso_event* event, void* user) {
  auto* out = static_cast<std::FILE*>(user);
  std::fputs((std::string(event->text) + "\n").c_str(), out);
  std::fflush(out);
}

}  // namespace

int bench(const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  bool json = false;
  int threads = 0;
  std::string precision = "auto";
  CLI::App app(
      "Measures what this machine can do at most, and how near to it the networks come.\n"
      "An unknown NAME lists those that there are; without one, the usual ones run.",
      "gesso bench");
  app.add_option("NAME", names, "what to measure: matmul, conv, attention ...");
  app.add_flag("--json", json, "print a JSON document; lines go to the standard error");
  app.add_option("-t,--threads", threads, "threads; 0 takes every physical core")->check(CLI::Range(0, 1000000));
  app.add_option("--precision", precision, "auto, f32 or bf16")->capture_default_str();
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 takes them
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return std::fputs(app.help().c_str(), stdout) < 0;
  } catch (const CLI::ParseError& error) {
    throw usage(std::string("bench: ") + error.what());
  }
  const Json options = {{"names", names}, {"threads", threads}, {"precision", precision}};
  gesso_error error = {};
  const Json report =
      parse_json(take(gesso_bench(to_text(options).c_str(), print_line, json ? stderr : stdout, &error), error));
  if (json) std::fputs((to_text(report, 2) + "\n").c_str(), stdout);
  return 0;
}

}  // namespace cli
