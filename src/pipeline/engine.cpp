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
#include "ops/ops.h"
#include "pipeline/canvas.h"
#include "pipeline/inspection.h"
#include "pipeline/model_files.h"
#include "pipeline/picture.h"
#include "pipeline/planner.h"
#include "pipeline/stages.h"
#include "pipeline/upscale.h"
#include "sampling/prediction.h"
#include "sampling/samplers.h"
#include "sampling/schedule.h"
#include "weights/pattern_weight.h"

namespace gesso {
namespace {

/// What decides whether a loaded model serves a request too: its files and when they last changed.
std::string model_key(const Request& r) {
  std::string key;
  for (const auto& [field, path] : model_paths(r)) {
    std::error_code error;
    const auto time = std::filesystem::last_write_time(path, error);
    key += path + '\0' + (error ? "" : std::to_string(time.time_since_epoch().count())) + '\0';
  }
  return key;
}

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
  explicit CpuEngine(const EngineOptions& options) : options_(options) {}

  GenerateResult generate(const Request& request, const EventSink& sink, const CancelToken& cancel) override;
  std::vector<Picture> upscale(const UpscaleRequest& request, const EventSink& sink,
                               const CancelToken& cancel) override;
  Plan plan(const Request& request) override;
  std::string explain(const Request& request) override;
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
    return asked > 0 ? asked : available_memory() / 10 * 9 + held_;
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
    return !options_.profile.empty() || (variable && *variable);
  }
  void report(const Profile& profile, const EventSink& sink) const;
  LoadedModel& load(const Request& request, const EventSink& sink);
  void release(const std::vector<WeightStore*>& stores, Residency residency) {
    if (residency == Residency::kResident) return;
    for (const WeightStore* store : stores) store->release();
    device_.trim();
  }

  EngineOptions options_;
  std::mutex mutex_;  // one request at a time
  CpuDevice device_;
  std::string key_;
  LoadedModel loaded_;
  int64_t held_ = 0;  // bytes of weights kept from the last request, which a new one may use
};

/// What a device is told for one request, taken back at its end however it ends.
class DeviceSettings {
 public:
  DeviceSettings(CpuDevice& device, const CancelToken& cancel, Residency residency, Profile* profile)
      : device_(device) {
    device.set_profile(profile);
    device.set_interrupt([cancel] { return cancel.cancelled(); });
    device.set_streaming(residency == Residency::kStreamed);
  }
  ~DeviceSettings() {
    device_.set_interrupt({});
    device_.set_streaming(false);
    device_.set_profile(nullptr);
    device_.trim();
  }
  DeviceSettings(const DeviceSettings&) = delete;
  DeviceSettings& operator=(const DeviceSettings&) = delete;

 private:
  CpuDevice& device_;
};

LoadedModel& CpuEngine::load(const Request& request, const EventSink& sink) {
  const std::string key = model_key(request);
  if (loaded_.model && key == key_) return loaded_;
  sink({.kind = Event::Kind::kStage, .stage = "load"});
  loaded_ = {};
  held_ = 0;
  device_.trim();
  loaded_ = load_model(request);
  key_ = key;
  for (const std::string& text : loaded_.messages) sink({.kind = Event::Kind::kMessage, .text = text});
  return loaded_;
}

void CpuEngine::report(const Profile& profile, const EventSink& sink) const {
  constexpr size_t kRows = 25;
  sink({.kind = Event::Kind::kMessage, .text = profile.table(measure_limits(), kRows)});
  if (options_.profile.empty()) return;
  AtomicFile file(options_.profile);
  file.write(profile.chrome_trace());
  file.commit();
}

GenerateResult CpuEngine::generate(const Request& request, const EventSink& sink, const CancelToken& cancel) {
  const std::lock_guard lock(mutex_);
  cancel.check();
  use_threads(request, sink);
  const InputPictures inputs = load_input_pictures(request);
  LoadedModel& loaded = load(request, sink);
  GenerateResult result;
  result.resolved = resolve(request, *loaded.model, inputs);
  const Request& resolved = result.resolved;
  const DType compute = compute_type(resolved);
  const WorkPlan plan = make_plan(*loaded.model, resolved, compute, budget(resolved));
  if (plan.residency != Residency::kResident)
    sink({.kind = Event::Kind::kMessage,
          .text = fmt::format("weights are {} to stay within {} of memory", to_string(plan.residency),
                              bytes_text(plan.budget))});

  for (const std::string& text : without_effect(request, resolved, *loaded.model))
    sink({.kind = Event::Kind::kMessage, .text = text});
  std::optional<Canvas> canvas;
  if (inputs.init) canvas = make_canvas(inputs, resolved);

  const std::unique_ptr<Profile> profile = wants_profile() ? std::make_unique<Profile>() : nullptr;
  const DeviceSettings settings(device_, cancel, plan.residency, profile.get());
  const Work work{*loaded.model, device_, resolved, compute, sink};
  std::vector<Latent> latents;
  {
    const TextStates text = encode_text(work);
    release(loaded.model->text_weights(), plan.residency);
    const StartingPoint start = encode_canvas(work, canvas ? &*canvas : nullptr);
    release({&loaded.model->decoder_weights()}, plan.residency);
    for (int k = 0; k < resolved.batch_count; ++k) {
      cancel.check();
      latents.push_back(denoise(work, text, start, seeds_of(resolved, k)));
    }
  }
  release({&loaded.model->denoiser_weights()}, plan.residency);
  for (int k = 0; k < resolved.batch_count; ++k) {
    cancel.check();
    Image image{*resolved.width, *resolved.height, 3, decode(work, latents[static_cast<size_t>(k)])};
    if (canvas) image = on_canvas(*canvas, image);
    result.pictures.push_back(make_picture(resolved, k, loaded.name, std::move(image)));
  }
  release({&loaded.model->decoder_weights()}, plan.residency);
  if (plan.residency == Residency::kResident) {
    held_ = 0;
    for (const StagePlan& stage : plan.stages) held_ += stage.weights;
  }
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
  if (loaded_.model && held_ > 0 && budget(request.machine) - held_ < kUsualNeed) {
    release(loaded_.model->text_weights(), Residency::kStaged);
    release({&loaded_.model->denoiser_weights(), &loaded_.model->decoder_weights()}, Residency::kStaged);
    held_ = 0;
  }
  const std::unique_ptr<Profile> profile = wants_profile() ? std::make_unique<Profile>() : nullptr;
  std::vector<Picture> pictures;
  {
    const DeviceSettings settings(device_, cancel, Residency::kResident, profile.get());
    pictures = upscale_pictures(request, device_, compute, budget(request.machine) - held_, sink, cancel);
  }
  if (profile) report(*profile, sink);
  sink({.kind = Event::Kind::kDone});
  return pictures;
}

Plan CpuEngine::plan(const Request& request) {
  const std::lock_guard lock(mutex_);
  use_threads(request, [](const Event&) {});
  const InputPictures inputs = load_input_pictures(request);
  const LoadedModel& loaded = load(request, [](const Event&) {});
  const Request resolved = resolve(request, *loaded.model, inputs);
  const DType compute = compute_type(resolved);
  const WorkPlan work = make_plan(*loaded.model, resolved, compute, budget(resolved));
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
                           bytes_text(work.budget), to_string(work.residency), seconds);
  plan.json["peak_bytes"] = work.peak;
  plan.json["budget_bytes"] = work.budget;
  plan.json["residency"] = to_string(work.residency);
  plan.json["flops"] = work.flops();
  plan.json["seconds"] = seconds;
  plan.json["precision"] = compute == DType::kBF16 ? "bf16" : "f32";
  plan.json["request"] = request_to_json(resolved);
  return plan;
}

std::string CpuEngine::explain(const Request& request) {
  const std::lock_guard lock(mutex_);
  const InputPictures inputs = load_input_pictures(request);
  const LoadedModel& loaded = load(request, [](const Event&) {});
  return explain_prompts(*loaded.model, resolve(request, *loaded.model, inputs));
}

}  // namespace

std::unique_ptr<Engine> make_engine(const EngineOptions& options) {
  return std::make_unique<CpuEngine>(options);
}

}  // namespace gesso
