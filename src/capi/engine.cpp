// The engine's half of the C interface: open, generate, upscale, cancel, plan, models, inspect, convert, bench.
#include <algorithm>
#include <utility>

#include "benchmark/report.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "pipeline/convert.h"
#include "pipeline/inspection.h"
#include "pipeline/request.h"
#include "pipeline/series.h"
#include "pipeline/upscale.h"

using namespace gesso;

namespace {

EngineOptions read_options(const char* config_json) {
  EngineOptions options;
  if (!config_json) return options;
  std::optional<Json> parsed = parse_json(config_json);
  if (!parsed || !parsed->is_object()) fail(ErrorCode::kUsage, "the configuration is not a JSON object");
  Json& config = *parsed;
  for (const auto& item : config.items())
    if (item.key() != "threads" && item.key() != "memory" && item.key() != "profile" && item.key() != "imatrix_out" &&
        item.key() != "imatrix_in")
      fail(ErrorCode::kUsage,
           "unknown key \"{}\" in the configuration; known: threads, memory, profile, imatrix_out, imatrix_in",
           item.key());
  const auto file_name = [](const char* key, const Json& value) {
    if (!value.is_string()) fail(ErrorCode::kUsage, "{}: wanted the name of a file, found {}", key, shown(value));
    return value.get<std::string>();
  };
  for (const auto& [key, target] : {std::pair{"profile", &options.profile}, {"imatrix_out", &options.imatrix_out}})
    if (const auto found = config.find(key); found != config.end()) {
      *target = file_name(key, *found);
      config.erase(found);
    }
  if (const auto found = config.find("imatrix_in"); found != config.end()) {
    if (!found->is_array()) fail(ErrorCode::kUsage, "imatrix_in: wanted a list of files, found {}", shown(*found));
    for (const Json& name : *found) options.imatrix_in.push_back(file_name("imatrix_in", name));
    config.erase(found);
  }
  config["prompt"] = "-";  // checked by the rules of a request, which needs one
  const Request checked = request_from_json(config);
  options.threads = checked.threads;
  options.memory = checked.memory;
  return options;
}

constexpr int kMostThreads = 1000000;

BenchmarkOptions read_benchmark_options(const char* options_json) {
  BenchmarkOptions options;
  if (!options_json) return options;
  const Json json = parse_document(options_json, "the benchmark's options", /*depth=*/3);
  if (!json.is_object()) fail(ErrorCode::kUsage, "the benchmark's options are not a JSON object");
  for (const auto& [key, value] : json.items()) {
    if (key == "names" && value.is_array() && std::ranges::all_of(value, [](const Json& v) { return v.is_string(); }))
      options.names = value.get<std::vector<std::string>>();
    else if (key == "threads" && value.is_number_integer() && value >= 0 && value <= kMostThreads)
      options.threads = value.get<int>();
    else if (key == "precision" && value.is_string())
      options.precision = value.get<std::string>();
    else
      fail(ErrorCode::kUsage,
           "the benchmark's options: wanted names (texts), threads (0 to {}) and precision (a text), found {}: {}",
           kMostThreads, key, shown(value));
  }
  return options;
}

/// A job while it runs: its number can be cancelled.
class Job {
 public:
  explicit Job(gesso_engine& engine) : engine_(engine) {
    const std::lock_guard lock(engine.mutex);
    number_ = ++engine.last_job;
    engine.jobs.emplace(number_, token_);
  }
  ~Job() {
    const std::lock_guard lock(engine_.mutex);
    engine_.jobs.erase(number_);
    engine_.idle.notify_all();
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  uint64_t number() const { return number_; }
  const CancelToken& token() const { return token_; }

 private:
  gesso_engine& engine_;
  CancelToken token_;
  uint64_t number_ = 0;
};

gesso_event_kind to_kind(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::kStage:
      return GESSO_EVENT_STAGE;
    case Event::Kind::kStep:
      return GESSO_EVENT_STEP;
    case Event::Kind::kMessage:
      return GESSO_EVENT_MESSAGE;
    case Event::Kind::kPreview:
      return GESSO_EVENT_PREVIEW;
    case Event::Kind::kDone:
      return GESSO_EVENT_DONE;
  }
  return GESSO_EVENT_MESSAGE;
}

EventSink sink_to(gesso_event_fn on_event, void* user, uint64_t job) {
  if (!on_event) return [](const Event&) {};
  const gesso_event started{GESSO_EVENT_STARTED, job, "", 0, 0, 0, 0, "", nullptr, 0, 0};
  on_event(&started, user);
  return [=](const Event& event) {
    const Image* image = event.preview.get();
    const gesso_event out{to_kind(event.kind),
                          job,
                          event.stage.c_str(),
                          event.step,
                          event.steps,
                          event.seconds,
                          event.eta,
                          event.text.c_str(),
                          image ? image->pixels.data() : nullptr,
                          image ? image->width : 0,
                          image ? image->height : 0};
    on_event(&out, user);
  };
}

/// A request whose prompt need not be there: it is about the model.
Request read_model_request(const char* request_json, std::string* prompt = nullptr, std::string* negative = nullptr) {
  Json document = parse_document(required(request_json, "request_json"), "the request", /*depth=*/8);
  if (!document.is_object()) fail(ErrorCode::kUsage, "a request is a JSON object, found {}", shown(document));
  for (const auto& [name, text] : {std::pair("prompt", prompt), std::pair("negative_prompt", negative)}) {
    const auto found = document.find(name);
    if (found != document.end() && text && found->is_string()) *text = found->get<std::string>();
  }
  const auto is_blank = [](const Json& value) {
    return value.is_string() && value.get_ref<const std::string&>().find_first_not_of(" \t\r\n") == std::string::npos;
  };
  if (!document.contains("prompt") || is_blank(document["prompt"])) document["prompt"] = "-";
  return request_from_json(document);
}

Json to_json(const LoadedModelInfo& model) {
  return {{"name", model.name},    {"family", model.family}, {"variant", model.variant},
          {"files", model.files},  {"bytes", model.bytes},   {"idle_seconds", model.idle_seconds},
          {"in_use", model.in_use}};
}

Json to_json(const std::vector<TextLength>& lengths) {
  Json list = Json::array();
  for (const TextLength& length : lengths)
    list.push_back(
        {{"encoder", length.encoder}, {"tokens", length.tokens}, {"room", length.room}, {"chunks", length.chunks}});
  return list;
}

}  // namespace

gesso_engine* gesso_open(const char* config_json, gesso_error* error) {
  gesso_engine* engine = nullptr;
  guarded(error, [&] { engine = new gesso_engine(make_engine(read_options(config_json))); });
  return engine;
}

void gesso_close(gesso_engine* engine) {
  if (!engine) return;
  gesso_cancel(engine, 0);
  guarded(nullptr, [&] {
    std::unique_lock lock(engine->mutex);
    engine->idle.wait(lock, [&] { return engine->jobs.empty(); });
  });
  delete engine;
}

gesso_status gesso_generate(gesso_engine* engine, const char* request_json, gesso_event_fn on_event, void* user,
                            gesso_result** result, gesso_error* error) {
  return guarded(error, [&] {
    required(engine, "engine");
    required(request_json, "request_json");
    required(result, "result");
    *result = nullptr;
    const Request request = parse_request(request_json);
    const Job job(*engine);
    auto out = std::make_unique<gesso_result>();
    out->generated = paint_series(*engine->engine, request, sink_to(on_event, user, job.number()), job.token());
    out->request = to_text(request_to_json(out->generated.resolved));
    *result = out.release();
  });
}

gesso_status gesso_upscale(gesso_engine* engine, const char* request_json, gesso_event_fn on_event, void* user,
                           gesso_result** result, gesso_error* error) {
  return guarded(error, [&] {
    required(engine, "engine");
    required(request_json, "request_json");
    required(result, "result");
    *result = nullptr;
    const UpscaleRequest request = parse_upscale_request(request_json);
    const Job job(*engine);
    auto out = std::make_unique<gesso_result>();
    out->generated.pictures = engine->engine->upscale(request, sink_to(on_event, user, job.number()), job.token());
    out->request = request_json;
    *result = out.release();
  });
}

gesso_status gesso_check_upscale_request(const char* request_json, gesso_error* error) {
  return guarded(error, [&] { parse_upscale_request(required(request_json, "request_json")); });
}

void gesso_cancel(gesso_engine* engine, uint64_t job) {
  if (!engine) return;
  guarded(nullptr, [&] {
    const std::lock_guard lock(engine->mutex);
    for (const auto& [number, token] : engine->jobs)
      if (job == 0 || job == number) token.cancel();
  });
}

char* gesso_plan(gesso_engine* engine, const char* request_json, gesso_error* error) {
  char* text = nullptr;
  guarded(error, [&] {
    required(engine, "engine");
    required(request_json, "request_json");
    Plan plan = plan_series(*engine->engine, parse_request(request_json));
    plan.json["text"] = plan.text;
    text = copy_out(to_text(plan.json));
  });
  return text;
}

char* gesso_bench(const char* options_json, gesso_event_fn on_event, void* user, gesso_error* error) {
  char* text = nullptr;
  guarded(error, [&] {
    const BenchmarkOptions options = read_benchmark_options(options_json);
    text = copy_out(to_text(run_benchmarks(options, [&](const std::string& line) {
      const gesso_event event{GESSO_EVENT_MESSAGE, 0, "", 0, 0, 0, 0, line.c_str(), nullptr, 0, 0};
      if (on_event) on_event(&event, user);
    })));
  });
  return text;
}

char* gesso_explain_prompt(gesso_engine* engine, const char* request_json, gesso_error* error) {
  char* text = nullptr;
  guarded(error, [&] {
    required(engine, "engine");
    required(request_json, "request_json");
    text = copy_out(explain_series(*engine->engine, parse_request(request_json)));
  });
  return text;
}

char* gesso_count_tokens(gesso_engine* engine, const char* request_json, gesso_error* error) {
  char* text = nullptr;
  guarded(error, [&] {
    required(engine, "engine");
    std::string prompt, negative;
    const Request request = read_model_request(request_json, &prompt, &negative);
    text = copy_out(to_text(Json{{"prompt", to_json(engine->engine->prompt_lengths(request, prompt))},
                                 {"negative_prompt", to_json(engine->engine->prompt_lengths(request, negative))}}));
  });
  return text;
}

char* gesso_load(gesso_engine* engine, const char* request_json, gesso_error* error) {
  char* text = nullptr;
  guarded(error, [&] {
    required(engine, "engine");
    text = copy_out(to_text(to_json(engine->engine->load(read_model_request(request_json)))));
  });
  return text;
}

char* gesso_models(gesso_engine* engine, gesso_error* error) {
  char* text = nullptr;
  guarded(error, [&] {
    required(engine, "engine");
    Json list = Json::array();
    for (const LoadedModelInfo& model : engine->engine->models()) list.push_back(to_json(model));
    text = copy_out(to_text(list));
  });
  return text;
}

int64_t gesso_unload(gesso_engine* engine, const char* file, double idle_seconds, gesso_error* error) {
  int64_t count = -1;
  guarded(error, [&] {
    required(engine, "engine");
    constexpr double kLongest = 1e9;  // seconds: what a clock can count
    if (!(idle_seconds >= 0 && idle_seconds <= kLongest))
      fail(ErrorCode::kUsage, "idle_seconds: wanted 0 to {}, found {}", kLongest, idle_seconds);
    count = static_cast<int64_t>(engine->engine->unload(file ? file : "", idle_seconds));
  });
  return count;
}
namespace {

std::vector<std::filesystem::path> paths_of(const char* const* paths, size_t count) {
  if (count == 0) fail(ErrorCode::kUsage, "no file to inspect");
  required(paths, "paths");
  std::vector<std::filesystem::path> files;
  for (size_t i = 0; i < count; ++i) files.emplace_back(required(paths[i], "a path"));
  return files;
}

}  // namespace

char* gesso_inspect(gesso_engine* engine, const char* const* paths, size_t count, gesso_error* error) {
  char* text = nullptr;
  guarded(error, [&] {
    required(engine, "engine");
    Inspection inspection = engine->engine->inspect(paths_of(paths, count));
    inspection.json["text"] = inspection.text;
    text = copy_out(to_text(inspection.json));
  });
  return text;
}

char* gesso_list_tensors(const char* const* paths, size_t count, gesso_error* error) {
  char* text = nullptr;
  guarded(error, [&] {
    Inspection inspection = inspect_tensors(paths_of(paths, count));
    const Json json{{"files", std::move(inspection.json)}, {"text", std::move(inspection.text)}};
    text = copy_out(to_text(json));
  });
  return text;
}

char* gesso_convert(gesso_engine* engine, const char* request_json, gesso_event_fn on_event, void* user,
                    gesso_error* error) {
  char* text = nullptr;
  guarded(error, [&] {
    required(engine, "engine");
    const ConvertRequest request = parse_convert_request(required(request_json, "request_json"));
    const Job job(*engine);
    text = copy_out(to_text(convert_files(request, sink_to(on_event, user, job.number()), job.token())));
  });
  return text;
}
