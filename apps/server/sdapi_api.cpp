// /sdapi/v1: the API of AUTOMATIC1111's stable-diffusion-webui.
#include <unistd.h>

#include <ctime>
#include <fstream>

#include "server/base64.h"
#include "server/request_decoder.h"
#include "server/service.h"

namespace server {
namespace {

std::string time_stamp(double seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y%m%d%H%M%S", &parts)};
}

/// The text "info" of an answer, with the members that A1111's has.
std::string info_of(const JobView& job, const std::vector<std::string>& warnings) {
  const Json request = parse_json(job.request);
  Json prompts = Json::array(), negatives = Json::array(), seeds = Json::array(), subseeds = Json::array(),
       texts = Json::array();
  const std::string prompt = request.value("prompt", ""), negative = request.value("negative_prompt", "");
  for (const PictureFile& picture : *job.pictures) {
    prompts.push_back(prompt);
    negatives.push_back(negative);
    seeds.push_back(picture.seed);
    subseeds.push_back(0);
    texts.push_back(picture.parameters);
  }
  Json extra = {{"Schedule type", request.value("scheduler", "")}};
  if (!warnings.empty()) extra["Warnings"] = warnings;
  const PictureFile& first = job.pictures->front();
  return dumped({{"prompt", prompt},
                 {"all_prompts", std::move(prompts)},
                 {"negative_prompt", negative},
                 {"all_negative_prompts", std::move(negatives)},
                 {"seed", first.seed},
                 {"all_seeds", std::move(seeds)},
                 {"subseed", 0},
                 {"all_subseeds", std::move(subseeds)},
                 {"subseed_strength", 0},
                 {"width", first.width},
                 {"height", first.height},
                 {"sampler_name", request.value("sampling_method", "")},
                 {"cfg_scale", request.value("cfg_scale", 0.0)},
                 {"steps", request.value("steps", 0)},
                 {"batch_size", job.pictures->size()},
                 {"restore_faces", false},
                 {"face_restoration_model", nullptr},
                 {"sd_model_name", request.value("model", request.value("diffusion_model", ""))},
                 {"sd_model_hash", nullptr},
                 {"sd_vae_name", request.contains("vae") ? request["vae"] : Json()},
                 {"sd_vae_hash", nullptr},
                 {"seed_resize_from_w", -1},
                 {"seed_resize_from_h", -1},
                 {"denoising_strength", request.contains("strength") ? request["strength"] : Json()},
                 {"extra_generation_params", std::move(extra)},
                 {"index_of_first_image", 0},
                 {"infotexts", std::move(texts)},
                 {"styles", Json::array()},
                 {"job_timestamp", time_stamp(job.started)},
                 {"clip_skip", request.value("clip_skip", 1)},
                 {"is_using_inpainting_conditioning", false},
                 {"version", std::string("Gesso ") + gesso_version()}});
}

template <Decoded (*decode)(std::string_view body)>
void paint(const Service& service, const Call& call) {
  expect_json(call.request);
  const Decoded decoded = decode(call.request.body);
  const auto ended = [parameters = dumped(decoded.original), warnings = decoded.warnings, send = decoded.send](
                         const Call& waiting, const JobView& job) {
    Json images = Json::array();
    if (send)
      for (const PictureFile& picture : *job.pictures) images.push_back(base64_encode(picture.bytes));
    waiting.send_json("{\"images\":" + dumped(images) + ",\"parameters\":" + parameters +
                      ",\"info\":" + dumped(info_of(job, warnings)) + "}");
  };
  paint_for(service, call, order_of(service, call, decoded, "sdapi"), decoded.warnings, ended);
}

void not_yet(const Call&) {
  throw ApiError(501, "unsupported", "this server does not do this yet: use /sdapi/v1/txt2img or img2img");
}

void send_progress(const Service& service, const Call& call) {
  const std::vector<JobView> active = service.painter.active();
  const bool running = !active.empty() && active.front().state == JobState::kRunning;
  const JobView job = running ? active.front() : JobView{};
  // another client's picture is none of its business
  const bool shows = running && job.preview && job.api == "sdapi" && job.client == call.client &&
                     call.request.parameter("skip_current_image") != "true";
  const Json state = {{"skipped", false},
                      {"interrupted", false},
                      {"stopping_generation", false},
                      {"job", running ? "scripts_txt2img" : ""},
                      {"job_count", active.size()},
                      {"job_timestamp", running ? time_stamp(job.started) : "0"},
                      {"job_no", 0},
                      {"sampling_step", job.progress.step},
                      {"sampling_steps", job.progress.steps}};
  call.send_json(dumped({{"progress", job.progress.fraction},
                         {"eta_relative", running && job.progress.eta > 0 ? job.progress.eta : 0.0},
                         {"state", state},
                         {"current_image", shows ? Json(base64_encode(job.preview->bytes)) : Json()},
                         {"textinfo", running ? Json(job.progress.stage) : Json()}}));
}

/// Stops what runs for this client through this API; another client's work is none of its business.
void interrupt(const Service& service, const Call& call) {
  for (const JobView& job : service.painter.active())
    if (job.state == JobState::kRunning && job.api == "sdapi" && job.client == call.client)
      service.painter.cancel(job.id);
  call.send_json("{}");
}

void send_options(const Service& service, const Call& call) {
  const auto chosen = service.models.chosen();
  call.send_json(dumped({{"sd_model_checkpoint", chosen ? Json(chosen->name) : Json()},
                         {"sd_checkpoint_hash", ""},
                         {"sd_vae", "Automatic"},
                         {"CLIP_stop_at_last_layers", 1},
                         {"samples_format", "png"}}));
}

/// Of the options only the model can be set; others are named in a warning.
void set_options(const Service& service, const Call& call) {
  expect_json(call.request);
  const Json body = parse_object(call.request.body);
  Fields fields(body);
  if (const auto model = fields.text("sd_model_checkpoint"); model && !model->empty())
    service.models.choose(service.models.find("sd_model_checkpoint", *model));
  Call answer = call;
  std::string ignored;
  for (const std::string& name : fields.unknown()) ignored += (ignored.empty() ? "" : ", ") + name.substr(0, 60);
  if (!ignored.empty()) answer.headers.emplace_back("X-Gesso-Warnings", "no effect here: " + ignored.substr(0, 1000));
  answer.send_json("null");
}

void send_models(const Service& service, const Call& call) {
  Json list = Json::array();
  for (const ModelList::Entry& entry : service.models.entries()) {
    if (entry.kind != "checkpoint" && entry.kind != "unknown") continue;
    const std::string stem = std::filesystem::path(entry.name).stem().string();
    list.push_back({{"title", entry.name},
                    {"model_name", stem},
                    {"hash", nullptr},
                    {"sha256", nullptr},
                    {"filename", entry.name},
                    {"config", nullptr}});
  }
  call.send_json(dumped(list));
}

void list_models(const Service& service, const Call& call) {
  with_kinds(service, call, [&service](const Call& later) { send_models(service, later); });
}

void send_vaes(const Service& service, const Call& call) {
  Json list = Json::array();
  for (const ModelList::Entry& entry : service.models.entries())
    if (entry.kind == "vae") list.push_back({{"model_name", entry.name}, {"filename", entry.name}});
  call.send_json(dumped(list));
}

void list_vaes(const Service& service, const Call& call) {
  with_kinds(service, call, [&service](const Call& later) { send_vaes(service, later); });
}

/// Frees the memory of every model; the next request loads its own again.
void unload_models(const Service& service, const Call& call) {
  later(service, call, [&service](const Call& waiting) {
    gesso_unload(service.engine, nullptr, 0, nullptr);
    waiting.send_json("{}");
  });
}

void reload_model(const Service& service, const Call& call) {
  const auto chosen = service.models.chosen();
  if (!chosen) throw ApiError(404, "not_found", "this server has no model", "sd_model_checkpoint");
  later(service, call, [&service, chosen](const Call& waiting) {
    load_model(service, *chosen);
    waiting.send_json("{}");
  });
}

void list_samplers(const Call& call) {
  Json list = Json::array();
  for (const Json& name : schema_choices("sampling_method"))
    list.push_back({{"name", name}, {"aliases", Json::array()}, {"options", Json::object()}});
  call.send_json(dumped(list));
}

void list_schedulers(const Call& call) {
  Json list = Json::array();
  for (const Json& name : schema_choices("scheduler"))
    list.push_back(
        {{"name", name}, {"label", name}, {"aliases", nullptr}, {"default_rho", -1}, {"need_inner_model", false}});
  call.send_json(dumped(list));
}

void picture_info(const Call& call) {
  expect_json(call.request);
  const Json body = parse_object(call.request.body);
  Fields fields(body);
  const auto text = fields.text("image");
  if (!text) throw bad_field("image", "missing; it holds the picture in base64");
  const auto bytes = base64_decode(*text);
  if (!bytes) throw bad_field("image", "wanted a picture in base64, with or without data:image/png;base64, before it");
  gesso_error error = {};
  const std::unique_ptr<char, decltype(&gesso_free)> found(
      gesso_picture_info(reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size(), &error), gesso_free);
  if (!found) throw bad_field("image", error.message);
  const Json info = parse_json(found.get());
  call.send_json(dumped({{"info", info["parameters"]}, {"items", Json::object()}, {"parameters", info["fields"]}}));
}

/// Memory of the machine, and what this process has of it, in bytes.
void send_memory(const Call& call) {
  const auto page = static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
  int64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  call.send_json(dumped({{"ram",
                          {{"free", page * ::sysconf(_SC_AVPHYS_PAGES)},
                           {"used", page * resident},
                           {"total", page * ::sysconf(_SC_PHYS_PAGES)}}},
                         {"cuda", {{"error", "this server paints on the CPU"}}}}));
}

void send_flags(const Service& service, const Call& call) {
  call.send_json(dumped({{"api", true},
                         {"listen", service.options.host != "127.0.0.1"},
                         {"port", service.options.port},
                         {"no_half", false},
                         {"api_auth", service.access.has_keys() ? Json("set") : Json()}}));
}

}  // namespace

void add_sdapi_routes(Router& router, const Service& service) {
  const auto with = [&service](void (*handle)(const Service&, const Call&)) {
    return [&service, handle](const Call& call) { handle(service, call); };
  };
  const auto always = [](const char* body) { return [body](const Call& call) { call.send_json(body); }; };
  const auto get = [&](const char* name, std::function<void(const Call&)> handle) {
    router.add({"GET", std::string("/sdapi/v1/") + name, std::string("A1111: ") + name, std::move(handle)});
  };
  const auto post = [&](const char* name, std::function<void(const Call&)> handle, Body body) {
    router.add({"POST", std::string("/sdapi/v1/") + name, std::string("A1111: ") + name, std::move(handle), body});
  };
  post("txt2img", with(paint<decode_sdapi>), Body::kJson);
  post("img2img", with(paint<decode_sdapi_over>), Body::kPicture);
  for (const char* name : {"extra-single-image", "extra-batch-images", "interrogate"})
    post(name, not_yet, Body::kPicture);
  post("png-info", picture_info, Body::kPicture);
  get("progress", with(send_progress));
  post("interrupt", with(interrupt), Body::kNone);
  post("skip", with(interrupt), Body::kNone);
  get("options", with(send_options));
  post("options", with(set_options), Body::kJson);
  get("cmd-flags", with(send_flags));
  get("memory", send_memory);
  get("sd-models", with(list_models));
  get("samplers", list_samplers);
  get("schedulers", list_schedulers);
  post(
      "refresh-checkpoints",
      [&service](const Call& call) {
        service.models.refresh();
        call.send_json("null");
      },
      Body::kNone);
  get("sd-vae", with(list_vaes));
  post("unload-checkpoint", with(unload_models), Body::kNone);
  post("reload-checkpoint", with(reload_model), Body::kNone);
  for (const char* name : {"upscalers", "latent-upscale-modes", "loras", "hypernetworks", "face-restorers",
                           "prompt-styles", "sd-modules", "realesrgan-models"})
    get(name, always("[]"));
  get("embeddings", always(R"({"loaded":{},"skipped":{}})"));
  get("scripts", always(R"({"txt2img":[],"img2img":[]})"));
}

}  // namespace server
