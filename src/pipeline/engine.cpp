#include "pipeline/engine.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/files.h"
#include "base/threads.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/measure.h"
#include "io/imatrix.h"
#include "ops/ops.h"
#include "pipeline/canvas.h"
#include "pipeline/inspection.h"
#include "pipeline/model_cache.h"
#include "pipeline/model_files.h"
#include "pipeline/picture.h"
#include "pipeline/planner.h"
#include "pipeline/stages.h"
#include "pipeline/tiling.h"
#include "pipeline/upscale.h"
#include "sampling/prediction.h"
#include "sampling/samplers.h"
#include "sampling/schedule.h"
#include "weights/importance_observer.h"
#include "weights/pattern_weight.h"
#include "weights/prefetcher.h"

namespace gesso {
namespace {

/// Width and height where they are open: those of the picture to paint over, at most twice the area that the model
/// paints by default; else the model's.
void resolve_size(Request& r, const LatentDiffusion& model, const InputPictures& inputs) {
  const Defaults& defaults = model.defaults();
  if (inputs.init && (!inputs.mask || r.inpaint_area == "whole") && !(r.width && r.height)) {
    const double width = inputs.init->width, height = inputs.init->height, aspect = width / height;
    const double most = 2.0 * defaults.width * defaults.height;
    const double scale = r.width    ? *r.width / width
                         : r.height ? *r.height / height
                                    : std::min(1.0, std::sqrt(most / (width * height)));
    const double unit = model.latent_format().scale * model.latent_format().patch;
    const auto legal = [&](double size) {
      return static_cast<int>(std::clamp(std::round(size / unit) * unit, 64.0, 8192.0));
    };
    if (!r.width) r.width = r.height ? legal(*r.height * aspect) : legal(width * scale);
    if (!r.height) r.height = legal(height * scale);
  }
  r.width = r.width.value_or(defaults.width);
  r.height = r.height.value_or(defaults.height);
}

/// Gives every open choice the model's value, and checks what only the model can tell.
Request resolve(const Request& request, const LatentDiffusion& model, const InputPictures& inputs) {
  Request r = request;
  const Defaults& defaults = model.defaults();
  resolve_size(r, model, inputs);
  if (inputs.init)
    r.strength = r.strength.value_or(model.extra_input() == ExtraInput::kMaskAndPicture || outpaints(r) ? 1.0 : 0.75);
  r.steps = r.steps.value_or(defaults.steps);
  r.cfg_scale = r.cfg_scale.value_or(defaults.cfg_scale);
  r.guidance = r.guidance.value_or(defaults.guidance);
  r.clip_skip = r.clip_skip.value_or(defaults.clip_skip);
  const SamplerChoice choice = find_sampler(r.sampling_method.value_or(defaults.sampler));
  r.sampling_method = std::string(choice.sampler->name);
  std::string schedule = defaults.scheduler;
  if (choice.schedule)
    schedule = choice.schedule->name;
  else if (!choice.sampler->schedule.empty())
    schedule = choice.sampler->schedule;  // the one it was made for
  if (!r.sigmas.empty()) r.steps = static_cast<int>(parse_sigmas(r.sigmas).size()) - 1;
  r.scheduler = std::string(find_schedule(r.scheduler.value_or(schedule)).name);
  r.prediction =
      r.prediction == "auto" ? model.denoising().prediction : std::string(find_prediction(r.prediction).name);
  r.seed = resolve_seed(r.seed);
  if (r.subseed_strength.value_or(0) > 0) r.subseed = resolve_seed(r.subseed);
  if ((r.circular_x || r.circular_y) && !model.can_wrap())
    fail(ErrorCode::kUnsupported,
         "seamless pictures (circular_x, circular_y) are not supported for this model: its attention tells places "
         "apart");
  const int unit = model.latent_format().scale * model.latent_format().patch;
  for (const int size : {*r.width, *r.height})
    if (size % unit != 0)
      fail(ErrorCode::kUsage,
           "width and height must be multiples of {} for this model: {} is not; the nearest are {} and {}", unit, size,
           size / unit * unit, (size / unit + 1) * unit);
  return r;
}

/// What was asked for and makes no difference, one sentence each.
std::vector<std::string> without_effect(const Request& asked, const Request& resolved, const LatentDiffusion& model) {
  std::vector<std::string> sentences;
  if (asked.strength && asked.init_image.empty())
    sentences.emplace_back("strength has no effect without a picture to paint over (--init-img)");
  if (asked.subseed >= 0 && asked.subseed_strength.value_or(0) == 0)
    sentences.emplace_back("subseed has no effect while subseed_strength is 0");
  if (const Sampler& sampler = *find_sampler(*resolved.sampling_method).sampler; asked.eta && !sampler.takes_eta)
    sentences.push_back(fmt::format("eta has no effect with the sampler {}", sampler.name));
  if (asked.flow_shift && resolved.prediction != "flow")
    sentences.emplace_back("flow_shift has no effect: the model does not flow");
  if (asked.guidance && model.defaults().guidance == 0)
    sentences.emplace_back("guidance has no effect: the model is not told any; see cfg_scale");
  if (!asked.vae_tiling &&
      (!asked.vae_tile_size.empty() || !asked.vae_relative_tile_size.empty() || asked.vae_tile_overlap))
    sentences.emplace_back("sizes of the autoencoder's tiles have no effect without vae_tiling");
  if (resolved.taesd_preview_only && resolved.taesd.empty())
    sentences.emplace_back("taesd_preview_only has no effect without a tiny autoencoder (--taesd)");
  return sentences;
}

/// Multiplications and additions a second that dense work reaches here, measured in some tens of milliseconds.
double measured_speed(CpuDevice& device, DType compute) {
  const Weight weight = std::make_shared<PatternWeight>("pattern", Shape{640, 640});
  const Tensor x = device.empty({4096, 640}, compute);
  double best = 1e9;
  for (int i = 0; i < 4; ++i) {
    const auto start = std::chrono::steady_clock::now();
    (void)linear(x, weight, nullptr);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  // A whole network reaches about half of what its best operation does.
  return 0.5 * 2.0 * 4096 * 640 * 640 / best;
}

class CpuEngine final : public Engine {
 public:
  explicit CpuEngine(const EngineOptions& options) : options_(options) {
    for (const std::string& path : options.imatrix_in) imatrix_.merge(read_imatrix(path));
  }

  GenerateResult generate(const Request& request, const EventSink& sink, const CancelToken& cancel) override;
  std::vector<Picture> upscale(const UpscaleRequest& request, const EventSink& sink,
                               const CancelToken& cancel) override;
  Plan plan(const Request& request) override;
  std::string explain(const Request& request) override;
  std::vector<TextLength> prompt_lengths(const Request& request, const std::string& prompt) override;
  LoadedModelInfo load(const Request& request) override;
  size_t unload(const std::string& file, double idle_seconds) override;
  std::vector<LoadedModelInfo> models() override { return models_.list(); }
  Inspection inspect(const std::vector<std::filesystem::path>& paths) override { return inspect_files(paths); }

 private:
  DType compute_type(const Request& r) const {
    if (r.precision == "f32") return DType::kF32;
    if (r.precision == "bf16" && !device_.computes_bf16())
      fail(ErrorCode::kUnsupported, "this processor cannot compute in bf16, which takes AVX-512: use --precision f32");
    return r.precision == "bf16" || device_.prefers_bf16() ? DType::kBF16 : DType::kF32;
  }
  int64_t budget(const Request& r) const {
    const int64_t asked = r.memory > 0 ? r.memory : options_.memory;
    return asked > 0 ? asked : available_memory() / 10 * 9 + models_.held();
  }
  void use_threads(const Request& r, const EventSink& sink) const {
    const int asked = r.threads > 0 ? r.threads : options_.threads, most = processor_count();
    if (asked > most)
      sink(
          {.kind = Event::Kind::kMessage,
           .text = fmt::format("threads: {} are more than the {} processors there are, so {} run", asked, most, most)});
    set_thread_count(std::min(asked, most));
  }
  bool wants_profile() const {
    const char* variable = std::getenv("GESSO_PROFILE");
    return !options_.profile.empty() || (variable && *variable && std::string_view(variable) != "0");
  }
  void report(const Profile& profile, const EventSink& sink) const;
  /// Adds what was observed of a model's matrices to what is known, and writes that.
  void write_importance(ImportanceObserver& observer, LatentDiffusion& model, const EventSink& sink);
  void release(const std::vector<WeightStore*>& stores, Residency residency) {
    if (residency == Residency::kResident) return;
    for (const WeightStore* store : stores) store->release();
    device_.trim();
  }

  EngineOptions options_;
  std::mutex mutex_;  // one request at a time
  CpuDevice device_;
  ModelCache models_;
  Imatrix imatrix_;
  bool imatrix_written_ = false;
};

/// What a device is told for one request, taken back at its end however it ends.
class DeviceSettings {
 public:
  DeviceSettings(CpuDevice& device, const CancelToken& cancel, const WorkPlan& plan, Profile* profile,
                 Observer* observer)
      : device_(device) {
    std::vector<Observer*> observers;
    if (observer) observers.push_back(observer);
    if (plan.residency == Residency::kStreamed)
      for (const StagePlan& stage : plan.stages)
        observers.push_back(prefetchers_.emplace_back(new Prefetcher(plan.streamed(stage), kReadAhead)).get());
    device.set_profile(profile);
    device.set_observers(std::move(observers));
    device.set_interrupt([cancel] { return cancel.cancelled(); });
    device.set_streaming(plan.residency == Residency::kStreamed, plan.kept);
  }
  ~DeviceSettings() {
    device_.set_interrupt({});
    device_.set_streaming(false);
    device_.set_profile(nullptr);
    device_.set_observers({});
    device_.trim();
  }
  DeviceSettings(const DeviceSettings&) = delete;
  DeviceSettings& operator=(const DeviceSettings&) = delete;

 private:
  static constexpr int64_t kReadAhead = 256 << 20;  ///< bytes of the file that the system may hold for us

  CpuDevice& device_;
  std::vector<std::unique_ptr<Prefetcher>> prefetchers_;
};

/// A model for the time of one request. Where its weights should not stay, or it was unloaded meanwhile, memory goes
/// back at the end, however the request ends.
class UsedModel {
 public:
  UsedModel(CpuDevice& device, const ModelCache& models, ModelCache::Pointer model)
      : device_(device), models_(models), model_(std::move(model)) {}
  ~UsedModel() {
    const bool gone = !models_.has(model_);
    if (!stays_) {
      LatentDiffusion& model = *model_->loaded.model;
      for (const WeightStore* store : model.text_weights()) store->release();
      model.denoiser_weights().release();
      for (const WeightStore* store : LatentCodec(model, model_->loaded.tiny.get()).weights()) store->release();
    }
    model_.reset();
    if (gone)
      device_.give_memory_back();
    else if (!stays_)
      device_.trim();
  }
  UsedModel(const UsedModel&) = delete;
  UsedModel& operator=(const UsedModel&) = delete;

  CachedModel& operator*() const { return *model_; }
  const ModelCache::Pointer& pointer() const { return model_; }
  void weights_stay(bool stay) { stays_ = stay; }

 private:
  CpuDevice& device_;
  const ModelCache& models_;
  ModelCache::Pointer model_;
  bool stays_ = true;
};

void CpuEngine::report(const Profile& profile, const EventSink& sink) const {
  constexpr size_t kRows = 25;
  sink({.kind = Event::Kind::kMessage, .stage = "profile", .text = profile.table(measure_limits(), kRows)});
  if (options_.profile.empty()) return;
  AtomicFile file(options_.profile);
  file.write(profile.chrome_trace());
  file.commit();
}

void CpuEngine::write_importance(ImportanceObserver& observer, LatentDiffusion& model, const EventSink& sink) {
  for (const WeightStore* store : model.text_weights()) observer.collect(*store, imatrix_);
  observer.collect(model.denoiser_weights(), imatrix_);
  if (const WeightStore* decoder = model.decoder_weights()) observer.collect(*decoder, imatrix_);
  const std::filesystem::path out = options_.imatrix_out;
  if (!imatrix_written_ && std::filesystem::exists(out) &&
      std::ranges::count(options_.imatrix_in, options_.imatrix_out) == 0)
    sink({.kind = Event::Kind::kMessage,
          .text = fmt::format("{} is replaced; to add to it, name it with --imatrix-in too", quoted(out))});
  write_imatrix(out, imatrix_);
  imatrix_written_ = true;
}

GenerateResult CpuEngine::generate(const Request& request, const EventSink& sink, const CancelToken& cancel) {
  const std::lock_guard lock(mutex_);
  cancel.check();
  use_threads(request, sink);
  const InputPictures inputs = load_input_pictures(request);
  UsedModel used(device_, models_, models_.get(request, sink));
  LoadedModel& loaded = (*used).loaded;
  GenerateResult result;
  result.resolved = resolve(request, *loaded.model, inputs);
  Request& resolved = result.resolved;
  const DType compute = compute_type(resolved);
  LatentCodec codec = picture_codec(loaded, resolved);
  const std::unique_ptr<Preview> preview = Preview::of(loaded, resolved);
  const WorkPlan plan = make_plan(*loaded.model, codec, resolved, compute, budget(resolved), preview.get());
  if (plan.residency != Residency::kResident)
    sink({.kind = Event::Kind::kMessage,
          .text = fmt::format("weights are {}, to stay within {} of memory", plan.weights_text(),
                              bytes_text(plan.budget))});
  if (plan.tiling) {
    sink({.kind = Event::Kind::kMessage,
          .text = fmt::format("the autoencoder works in tiles of {0}x{0} latents to stay within {1} of memory",
                              plan.tiling->width, bytes_text(plan.budget))});
    codec = codec.with(*plan.tiling);
    set_tiling(resolved, *plan.tiling);
  }
  if (preview) preview->use(codec.tiling());
  if (models_.make_room(plan.budget - plan.peak, used.pointer()) > 0) device_.give_memory_back();
  const int64_t held = plan.residency == Residency::kResident ? plan.weights : 0;
  models_.keeps(used.pointer(), held);
  used.weights_stay(plan.residency == Residency::kResident);
  for (const std::string& text : without_effect(request, resolved, *loaded.model))
    sink({.kind = Event::Kind::kMessage, .text = text});
  std::optional<Canvas> canvas;
  if (inputs.init) canvas = make_canvas(inputs, resolved);

  const std::unique_ptr<Profile> profile = wants_profile() ? std::make_unique<Profile>() : nullptr;
  const bool observes = !options_.imatrix_out.empty();
  ImportanceObserver observer;
  const DeviceSettings settings(device_, cancel, plan, profile.get(), observes ? &observer : nullptr);
  TextMemory* const texts = observes ? nullptr : &(*used).texts;  // what is remembered would not be observed
  const Work work{*loaded.model, device_, resolved, compute, sink, codec, preview.get(), texts};
  std::vector<Latent> latents;
  {
    const TextStates text = encode_text(work);
    release(loaded.model->text_weights(), plan.residency);
    const StartingPoint start = encode_canvas(work, canvas ? &*canvas : nullptr);
    if (preview) preview->prepare(device_, compute);
    release(codec.weights(), plan.residency);
    for (int k = 0; k < resolved.batch_count; ++k) {
      cancel.check();
      latents.push_back(denoise(work, text, start, seeds_of(resolved, k)));
    }
  }
  release({&loaded.model->denoiser_weights()}, plan.residency);
  if (preview && preview->decoder()) release(preview->decoder()->weights(), plan.residency);
  for (int k = 0; k < resolved.batch_count; ++k) {
    cancel.check();
    Image image{*resolved.width, *resolved.height, 3, decode(work, latents[static_cast<size_t>(k)])};
    if (canvas) image = on_canvas(*canvas, image);
    result.pictures.push_back(make_picture(resolved, k, loaded.name, std::move(image)));
  }
  models_.keeps(used.pointer(), held);
  if (observes) write_importance(observer, *loaded.model, sink);
  if (profile) report(*profile, sink);
  sink({.kind = Event::Kind::kDone});
  return result;
}

std::vector<Picture> CpuEngine::upscale(const UpscaleRequest& request, const EventSink& sink,
                                        const CancelToken& cancel) {
  // What a tile of the usual size takes with the largest networks: painting's weights go where that is not to be had.
  constexpr int64_t kUsualNeed = int64_t{4} << 30;
  const std::lock_guard lock(mutex_);
  cancel.check();
  use_threads(request.machine, sink);
  const DType compute = compute_type(request.machine);
  const int64_t memory = budget(request.machine);
  if (models_.make_room(std::max<int64_t>(0, memory - kUsualNeed), nullptr) > 0) device_.give_memory_back();
  const std::unique_ptr<Profile> profile = wants_profile() ? std::make_unique<Profile>() : nullptr;
  std::vector<Picture> pictures;
  {
    const DeviceSettings settings(device_, cancel, WorkPlan{}, profile.get(), nullptr);
    pictures = upscale_pictures(request, device_, compute, memory - models_.held(), sink, cancel);
  }
  if (profile) report(*profile, sink);
  sink({.kind = Event::Kind::kDone});
  return pictures;
}

Plan CpuEngine::plan(const Request& request) {
  const std::lock_guard lock(mutex_);
  use_threads(request, [](const Event&) {});
  const InputPictures inputs = load_input_pictures(request);
  const ModelCache::Pointer used = models_.get(request, [](const Event&) {});
  LoadedModel& loaded = used->loaded;
  const Request resolved = resolve(request, *loaded.model, inputs);
  const DType compute = compute_type(resolved);
  const std::unique_ptr<Preview> preview = Preview::of(loaded, resolved);
  const WorkPlan work =
      make_plan(*loaded.model, picture_codec(loaded, resolved), resolved, compute, budget(resolved), preview.get());
  const double speed = measured_speed(device_, compute);

  Plan plan;
  plan.text = fmt::format("{} ({}), {}x{}, {} steps of {} ({}), {} on {} threads\n", loaded.family->title, loaded.name,
                          *resolved.width, *resolved.height, *resolved.steps, *resolved.sampling_method,
                          *resolved.scheduler, compute == DType::kBF16 ? "bf16" : "f32", thread_count());
  plan.text += fmt::format("{:<10}{:>8}{:>12}{:>14}{:>16}{:>10}\n", "stage", "passes", "weights", "activations",
                           "operations", "estimate");
  for (const StagePlan& stage : work.stages) {
    const double seconds = static_cast<double>(stage.flops) / speed;
    plan.text += fmt::format("{:<10}{:>8}{:>12}{:>14}{:>11.1f} GFLOP{:>8.1f} s\n", stage.name, stage.repeats,
                             bytes_text(stage.weights), bytes_text(stage.activations),
                             static_cast<double>(stage.flops) / 1e9, seconds);
    plan.json["stages"].push_back({{"name", stage.name},
                                   {"passes", stage.repeats},
                                   {"weight_bytes", stage.weights},
                                   {"activation_bytes", stage.activations},
                                   {"flops", stage.flops},
                                   {"seconds", seconds}});
  }
  const double seconds = static_cast<double>(work.flops()) / speed;
  plan.text += fmt::format("peak memory {} of {}, weights {}; about {:.1f} s\n", bytes_text(work.peak),
                           bytes_text(work.budget), work.weights_text(), seconds);
  plan.json["peak_bytes"] = work.peak;
  plan.json["budget_bytes"] = work.budget;
  plan.json["residency"] = to_string(work.residency);
  plan.json["kept_bytes"] = work.kept_bytes;
  if (work.tiling) {
    plan.text += fmt::format("the autoencoder works in tiles of {0}x{0} latents\n", work.tiling->width);
    plan.json["tile"] = work.tiling->width;
  }
  plan.json["flops"] = work.flops();
  plan.json["seconds"] = seconds;
  plan.json["precision"] = compute == DType::kBF16 ? "bf16" : "f32";
  plan.json["request"] = request_to_json(resolved);
  return plan;
}

std::string CpuEngine::explain(const Request& request) {
  const InputPictures inputs = load_input_pictures(request);
  const ModelCache::Pointer used = models_.get(request, [](const Event&) {});
  const LatentDiffusion& model = *used->loaded.model;
  return explain_prompts(model, resolve(request, model, inputs));
}

std::vector<TextLength> CpuEngine::prompt_lengths(const Request& request, const std::string& prompt) {
  const ModelCache::Pointer used = models_.get(request, [](const Event&) {});
  const LatentDiffusion& model = *used->loaded.model;
  return measure_prompt(model, resolve(request, model, {}), prompt);
}

LoadedModelInfo CpuEngine::load(const Request& request) {
  const ModelCache::Pointer used = models_.get(request, [](const Event&) {});
  return models_.info(used);
}

size_t CpuEngine::unload(const std::string& file, double idle_seconds) {
  const auto idle =
      std::chrono::duration_cast<ModelCache::Clock::duration>(std::chrono::duration<double>(idle_seconds));
  const size_t count = models_.unload(file, idle);
  if (count > 0) device_.give_memory_back();
  return count;
}

}  // namespace

std::unique_ptr<Engine> make_engine(const EngineOptions& options) {
  return std::make_unique<CpuEngine>(options);
}

}  // namespace gesso
