#include "generate.h"

#include <fmt/format.h>

#include <cstdio>

#include "arguments.h"
#include "help.h"
#include "job.h"
#include "library.h"
#include "models.h"
#include "output.h"
#include "text_file.h"

namespace cli {
namespace {

constexpr const char* kPreviewPath = "preview.png";

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

int dry_run(gesso_engine* engine, const std::string& request) {
  gesso_error error = {};
  const Json plan = parse_json(take(gesso_plan(engine, request.c_str(), &error), error));
  std::string text = plan["text"];
  if (!text.ends_with('\n')) text += '\n';
  std::fputs(text.c_str(), stdout);
  return 0;
}

int explain_prompt(gesso_engine* engine, const std::string& request) {
  gesso_error error = {};
  std::fputs(take(gesso_explain_prompt(engine, request.c_str(), &error), error).c_str(), stdout);
  return 0;
}

/// The pictures of one request under `name`.
void save(const gesso_result* result, const std::string& name, const GenerateArguments& arguments) {
  gesso_error error = {};
  const std::string names = take(
      gesso_save_pictures(result, name.c_str(), arguments.output_begin.value_or(-1), arguments.quality, &error), error);
  for (const Json& one : parse_json(names)) std::puts(one.get_ref<const std::string&>().c_str());
}

void paint(gesso_engine* engine, JobWatch& watch, const std::string& request, const std::string& name,
           const GenerateArguments& arguments) {
  gesso_result* raw = nullptr;
  gesso_error error = {};
  const gesso_status status = gesso_generate(engine, request.c_str(), JobWatch::on_event, &watch, &raw, &error);
  const ResultPointer result(raw);
  watch.clear();
  if (status != GESSO_OK) throw Failure(error);
  watch.set_writing(true);
  save(result.get(), name, arguments);
  watch.set_writing(false);
  gesso_picture first = {};
  if (arguments.fields.value("seed", Json(0)) < 0 && gesso_result_picture(result.get(), 0, &first, nullptr) == GESSO_OK)
    std::fputs(fmt::format("seed {}\n", first.seed).c_str(), stderr);
}

/// The requests to paint, one after another: one, or one for each line of a file of prompts, all checked before any is
/// painted.
std::vector<std::string> requests_of(const GenerateArguments& arguments, const Json& schema) {
  Json request = build_request(arguments, schema);
  if (!arguments.prompts) return {to_text(request)};
  std::vector<std::string> requests;
  for (const std::string& line : read_lines(*arguments.prompts)) {
    request["prompt"] = line;
    requests.push_back(to_text(request));
    gesso_error error = {};
    if (gesso_check_request(requests.back().c_str(), &error) != GESSO_OK) throw Failure(error);
  }
  if (requests.empty()) throw usage(fmt::format("there is no prompt in '{}'", *arguments.prompts));
  return requests;
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
  if (arguments.verbose && arguments.preview_path && arguments.fields.value("preview", "none") == "none")
    std::fputs("--preview-path: without effect without --preview\n", stderr);
  const std::vector<std::string> requests = requests_of(arguments, schema);
  const bool paints = !arguments.dry_run && !arguments.explain_prompt;
  std::string name = output_name(arguments.output);
  if (paints) check_output(name);
  if (paints && (arguments.preview_path || arguments.fields.value("preview", "none") != "none"))
    check_output(arguments.preview_path.value_or(kPreviewPath), "--preview-path");

  Interrupt interrupt;
  const std::string config = to_text({{"profile", arguments.profile.value_or("")},
                                      {"imatrix_out", arguments.imatrix_out.value_or("")},
                                      {"imatrix_in", arguments.imatrix_in}});
  const EnginePointer engine = open_engine(config.c_str());
  if (arguments.explain_prompt) return explain_prompt(engine.get(), requests[0]);
  if (arguments.dry_run) return dry_run(engine.get(), requests[0]);
  JobWatch watch(interrupt, engine.get(), arguments.verbose);
  watch.save_previews(arguments.preview_path.value_or(kPreviewPath), arguments.quality);
  GenerateArguments each = arguments;
  if (requests.size() > 1) {
    name = numbered(name);
    each.output_begin = arguments.output_begin.value_or(1);  // names that are taken are skipped
  }
  for (const std::string& request : requests) paint(engine.get(), watch, request, name, each);
  return 0;
}

}  // namespace cli
