// An engine that paints a colour gradient, and over a picture black (where the mask says, if there is one), in place of
// the real one in tests of the C interface, the command line and the server: it is linked before the library, whose
// make_engine() is then not used.
// Previews are gray, 8 x 8, and become lighter with each step.
//   prompt "fail CODE TEXT"  throws that error          prompt "throw"  throws something that is no Error
//   prompt "message TEXT"    says TEXT                  a file with "vae" in its name holds one
//   GESSO_FAKE_STEP_MS       milliseconds for each step (default 0)
// Upscaling repeats pixels: four for one with a model, as many as are wanted with a filter.
#include <chrono>
#include <cstdlib>
#include <list>
#include <mutex>
#include <thread>

#include "base/files.h"
#include "media/codec.h"
#include "media/resize.h"
#include "pipeline/canvas.h"
#include "pipeline/engine.h"
#include "pipeline/upscale.h"
#include "pipeline/upscale_info.h"

namespace gesso {
namespace {

constexpr ErrorCode kCodes[] = {ErrorCode::kUsage,       ErrorCode::kNotFound,    ErrorCode::kBadFile,
                                ErrorCode::kUnsupported, ErrorCode::kOutOfMemory, ErrorCode::kCancelled,
                                ErrorCode::kIo,          ErrorCode::kNumeric,     ErrorCode::kInternal};

void fail_if_asked(const std::string& prompt) {
  if (prompt == "throw") throw 42;
  for (const ErrorCode code : kCodes) {
    const std::string start = fmt::format("fail {} ", to_string(code));
    if (prompt.starts_with(start)) fail(code, "{}", prompt.substr(start.size()));
  }
}

Request resolve(Request request) {
  request.width = request.width.value_or(64);
  request.height = request.height.value_or(64);
  request.steps = request.steps.value_or(4);
  request.cfg_scale = request.cfg_scale.value_or(7);
  request.sampling_method = request.sampling_method.value_or("euler");
  request.scheduler = request.scheduler.value_or("discrete");
  request.seed = resolve_seed(request.seed);
  return request;
}

Picture paint(const Request& request, int index) {
  Picture picture{.width = *request.width, .height = *request.height, .seed = request.seed + index};
  const size_t hash = std::hash<std::string>{}(request.prompt);
  for (int y = 0; y < picture.height; ++y)
    for (int x = 0; x < picture.width; ++x)
      for (const size_t channel : {static_cast<size_t>(x), static_cast<size_t>(y), hash})
        picture.pixels.push_back(static_cast<uint8_t>(channel + static_cast<size_t>(picture.seed)));
  if (const InputPictures inputs = load_input_pictures(request); inputs.init) {
    const std::vector<uint8_t> black(picture.pixels.size());
    const Image over = on_canvas(make_canvas(inputs, request), {picture.width, picture.height, 3, black});
    picture.width = over.width, picture.height = over.height, picture.pixels = over.pixels;
  }
  if (!request.metadata) return picture;
  picture.parameters = fmt::format("{}\nSteps: {}, Seed: {}, Size: {}x{}", request.prompt, *request.steps, picture.seed,
                                   picture.width, picture.height);
  picture.request_json = recipe_to_json(request, index).dump();
  return picture;
}

class FakeEngine : public Engine {
 public:
  GenerateResult generate(const Request& request, const EventSink& sink, const CancelToken& cancel) override {
    fail_if_asked(request.prompt);
    (void)load(request);
    const char* pause = std::getenv("GESSO_FAKE_STEP_MS");
    GenerateResult result{.resolved = resolve(request)};
    const int steps = *result.resolved.steps;
    const bool says = request.prompt.starts_with("message ");
    sink({.kind = Event::Kind::kMessage, .text = says ? request.prompt.substr(8) : "a message"});
    sink({.kind = Event::Kind::kStage, .stage = "denoise", .steps = steps});
    for (int step = 1; step <= steps; ++step) {
      if (pause) std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(pause)));
      cancel.check();
      if (request.preview != "none" && step % request.preview_interval == 0) {
        const std::vector<uint8_t> gray(8 * 8 * 3, static_cast<uint8_t>(255 * step / steps));
        sink({.kind = Event::Kind::kPreview,
              .stage = "denoise",
              .step = step,
              .steps = steps,
              .preview = std::make_shared<Image>(Image{8, 8, 3, gray})});
      }
      sink({.kind = Event::Kind::kStep,
            .stage = "denoise",
            .step = step,
            .steps = steps,
            .seconds = 0.5,
            .eta = 0.5 * (steps - step)});
    }
    for (int i = 0; i < request.batch_count; ++i) result.pictures.push_back(paint(result.resolved, i));
    sink({.kind = Event::Kind::kDone});
    return result;
  }

  std::vector<Picture> upscale(const UpscaleRequest& request, const EventSink& sink,
                               const CancelToken& cancel) override {
    const char* pause = std::getenv("GESSO_FAKE_STEP_MS");
    std::vector<Picture> pictures;
    for (const auto& input : request.inputs) {
      const Image image = load_image(input);
      if (!request.method.model.empty() && !std::filesystem::exists(request.method.model))
        fail(ErrorCode::kNotFound, "file not found: '{}'", request.method.model.string());
      const int scale = request.method.model.empty() ? 1 : 2;
      const UpscaleSizes sizes = upscale_sizes(request, image.width, image.height, scale);
      constexpr int kTiles = 4;
      sink({.kind = Event::Kind::kStage, .stage = "upscale", .steps = kTiles});
      for (int tile = 1; tile <= kTiles; ++tile) {
        if (pause) std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(pause)));
        cancel.check();
        sink({.kind = Event::Kind::kStep, .stage = "upscale", .step = tile, .steps = kTiles});
      }
      Image large = repeated(image, sizes.width, sizes.height);
      if (request.crop) large = repeated(large, *request.width, *request.height);
      PictureInfo info;
      if (request.metadata) info = upscaled_info(read_file(input, 1 << 28), request, large.width, large.height, scale);
      pictures.push_back({.width = large.width,
                          .height = large.height,
                          .channels = large.channels,
                          .pixels = std::move(large.pixels),
                          .parameters = std::move(info.parameters),
                          .request_json = std::move(info.request_json)});
    }
    sink({.kind = Event::Kind::kDone});
    return pictures;
  }

  Plan plan(const Request& request) override {
    fail_if_asked(request.prompt);
    const Request resolved = resolve(request);
    return {.json = {{"request", request_to_json(resolved)}}, .text = fmt::format("{} steps", *resolved.steps)};
  }

  std::string explain(const Request& request) override { return request.prompt + " as it is read\n"; }

  /// A token a byte.
  std::vector<TextLength> prompt_lengths(const Request& request, const std::string& prompt) override {
    fail_if_asked(prompt);
    (void)load(request);
    return {{.encoder = "fake", .tokens = prompt.size(), .room = 75}};
  }

  LoadedModelInfo load(const Request& request) override {
    fail_if_asked(request.model);
    const std::lock_guard lock(mutex_);
    unload_where([&](const Open& model) { return model.file == request.model; });
    models_.push_front({request.model});
    return info(models_.front());
  }

  size_t unload(const std::string& file, double idle_seconds) override {
    const std::lock_guard lock(mutex_);
    const auto idle = std::chrono::duration<double>(idle_seconds);
    const auto now = std::chrono::steady_clock::now();
    return unload_where(
        [&](const Open& model) { return (file.empty() || model.file == file) && now - model.used >= idle; });
  }

  std::vector<LoadedModelInfo> models() override {
    const std::lock_guard lock(mutex_);
    std::vector<LoadedModelInfo> list;
    for (const Open& model : models_) list.push_back(info(model));
    return list;
  }

  Inspection inspect(const std::vector<std::filesystem::path>& paths) override {
    if (!std::filesystem::exists(paths[0])) fail(ErrorCode::kNotFound, "file not found: '{}'", paths[0].string());
    Json files = Json::array();
    for (const auto& path : paths) {
      const bool is_vae = path.filename().string().find("vae") != std::string::npos;
      files.push_back({{"components", {{{"role", is_vae ? "vae" : "diffusion_model"}}}}});
    }
    return {.json = {{"family", "fake"}, {"files", files}}, .text = "a fake"};
  }

 private:
  struct Open {
    std::string file;
    std::chrono::steady_clock::time_point used = std::chrono::steady_clock::now();
  };

  static LoadedModelInfo info(const Open& model) {
    return {.name = std::filesystem::path(model.file).stem().string(), .family = "fake", .files = {model.file}};
  }
  template <typename Where>
  size_t unload_where(const Where& where) {
    return models_.remove_if(where);
  }

  std::mutex mutex_;
  std::list<Open> models_;  // used last first; guarded by mutex_
};

}  // namespace

std::unique_ptr<Engine> make_engine(const EngineOptions&) {
  return std::make_unique<FakeEngine>();
}

}  // namespace gesso
