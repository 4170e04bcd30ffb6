#include "generate.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "arguments.h"
#include "help.h"
#include "interrupt.h"
#include "library.h"
#include "models.h"
#include "output.h"
#include "progress.h"

namespace cli {
namespace {

/// The picture's recipe, if one is named, with the given fields in place of its own; and the demo model if no model.
Json build_request(const GenerateArguments& arguments, const Json& schema) {
  Json request = Json::object();
  if (arguments.from_image) {
    gesso_error error = {};
    request = parse_json(take(gesso_read_picture_request(arguments.from_image->c_str(), &error), error));
    locate_recipe_files(request, arguments.fields, schema, *arguments.from_image);
  }
  request.update(arguments.fields);
  if (!request.contains("model") && !request.contains("diffusion_model")) request["model"] = demo_model();
  return request;
}

struct Listener {
  Progress& progress;
  Interrupt& interrupt;
  gesso_engine* engine;
};

void on_event(const gesso_event* event, void* user) {
  auto& listener = *static_cast<Listener*>(user);
  // a signal that came before the job had a number
  if (event->kind == GESSO_EVENT_STARTED && listener.interrupt.requested()) gesso_cancel(listener.engine, event->job);
  listener.progress.show(*event);
}

int dry_run(gesso_engine* engine, const std::string& request) {
  gesso_error error = {};
  const Json plan = parse_json(take(gesso_plan(engine, request.c_str(), &error), error));
  std::string text = plan["text"];
  if (!text.ends_with('\n')) text += '\n';
  std::fputs(text.c_str(), stdout);
  return 0;
}

void save(const gesso_result* result, const GenerateArguments& arguments) {
  gesso_error error = {};
  const std::string names = take(gesso_save_pictures(result, output_name(arguments.output).c_str(),
                                                     arguments.output_begin.value_or(-1), arguments.quality, &error),
                                 error);
  for (const Json& name : parse_json(names)) std::puts(name.get_ref<const std::string&>().c_str());
}

int paint(gesso_engine* engine, Interrupt& interrupt, const std::string& request, const GenerateArguments& arguments) {
  const char* profile = std::getenv("GESSO_PROFILE");
  Progress progress(arguments.verbose || arguments.profile || (profile && *profile));
  Listener listener{progress, interrupt, engine};
  gesso_result* raw = nullptr;
  gesso_error error = {};
  const gesso_status status = gesso_generate(engine, request.c_str(), on_event, &listener, &raw, &error);
  const ResultPointer result(raw);
  progress.clear();
  if (status != GESSO_OK) throw Failure(error);
  interrupt.finish_writing();
  save(result.get(), arguments);
  gesso_picture first = {};
  if (arguments.fields.value("seed", Json(0)) < 0 && gesso_result_picture(result.get(), 0, &first, nullptr) == GESSO_OK)
    std::fputs(fmt::format("seed {}\n", first.seed).c_str(), stderr);
  return 0;
}

}  // namespace

int generate(const std::vector<std::string>& command_line) {
  const Json schema = parse_json(gesso_schema());
  const GenerateArguments arguments = parse_generate(command_line, schema);
  if (arguments.help || arguments.help_all) {
    std::fputs((arguments.help_all ? full_help(schema) : short_help(schema)).c_str(), stdout);
    return 0;
  }
  if (arguments.verbose)
    for (const std::string& note : arguments.notes) std::fputs((note + "\n").c_str(), stderr);
  const std::string request = to_text(build_request(arguments, schema));
  if (!arguments.dry_run) check_output(output_name(arguments.output));

  Interrupt interrupt;
  const std::string config = to_text({{"profile", arguments.profile.value_or("")}});
  const EnginePointer engine = open_engine(config.c_str());
  if (arguments.dry_run) return dry_run(engine.get(), request);
  struct Watch {
    Interrupt& interrupt;
    ~Watch() { interrupt.watch(nullptr); }
  } watch{interrupt};
  interrupt.watch(engine.get());
  return paint(engine.get(), interrupt, request, arguments);
}

}  // namespace cli
