#include "pipeline/planner.h"

#include <algorithm>
#include <fstream>
#include <set>

#include "base/error.h"
#include "device/meta/meta_device.h"
#include "ops/ops.h"
#include "pipeline/prompts.h"
#include "pipeline/tiling.h"

namespace gesso {
namespace {

int64_t prepared_bytes(const WeightData& weight, DType compute) {
  return weight.shape().elements() * size_of(compute);
}

/// A plan while its stages are measured.
struct Measuring {
  LatentDiffusion& model;
  const Request& request;
  DType compute;
  WorkPlan plan = {};
  std::set<const WeightData*> seen = {};

  void add(const char* name, const MetaDevice& meta, int64_t repeats, bool with_next = false) {
    StagePlan stage{.name = name, .repeats = repeats, .flops = meta.flops() * repeats, .with_next = with_next};
    for (const WeightData* weight : meta.weights()) {
      const int64_t bytes = prepared_bytes(*weight, compute);
      stage.order.push_back(weight);
      stage.weights += bytes;
      stage.largest = std::max(stage.largest, bytes);
      if (seen.insert(weight).second) plan.weights += bytes;
    }
    stage.activations = meta.peak_bytes();
    plan.stages.push_back(std::move(stage));
  }
  /// What previews take in the course of denoising.
  void add(const Preview& preview, const Tiling& tiling, int64_t steps) {
    const LatentFormat& format = model.latent_format();
    MetaDevice meta;
    meta.set_wrap(wrap_of(request));
    if (const LatentCodec* fitter = preview.fitter()) {
      (void)fitter->decode(meta, zero_latent(format.channels, Preview::kFitSide, Preview::kFitSide), compute);
      add("preview", meta, 1);
    } else if (const LatentCodec* decoder = preview.decoder()) {
      (void)decoder->with(tiling).decode(meta, latent(format), compute);
      add("preview", meta, steps / request.preview_interval * request.batch_count, true);
      add_whole_picture(decoder->with(tiling));
    }
  }
  /// Tiles are put together in f32, outside of the device.
  void add_whole_picture(const LatentCodec& codec) {
    const Latent whole = latent(model.latent_format());
    if (codec.tiles(wrap_of(request), whole.width, whole.height) > 1)
      plan.stages.back().activations += int64_t{4} * 3 * *request.width * *request.height;
  }
  Latent latent(const LatentFormat& format) const {
    return zero_latent(format.channels, *request.height / format.scale, *request.width / format.scale);
  }
};

/// What the operation that runs takes besides weights that stay: its activations, and the weight that it reads, plain
/// and prepared.
int64_t working_bytes(const StagePlan& stage) {
  return 2 * stage.largest + stage.activations;
}

/// Keeps weights of each stage while there is room. Every one is used once an evaluation, so that the time saved goes
/// by their bytes; the small ones go first, since each that is streamed costs a little besides.
void keep_what_fits(WorkPlan& plan, DType compute) {
  std::set<const WeightData*> of_previews;  // which run beside another stage: there is no room for the weights of both
  for (const StagePlan& stage : plan.stages)
    if (stage.with_next) of_previews.insert(stage.order.begin(), stage.order.end());
  int64_t most = 0;
  for (const StagePlan& stage : plan.stages) {
    std::vector<const WeightData*> smallest_first = stage.order;
    std::ranges::stable_sort(smallest_first, {}, [&](const WeightData* w) { return prepared_bytes(*w, compute); });
    int64_t kept = 0;
    for (const WeightData* weight : smallest_first) {
      if (of_previews.contains(weight)) continue;
      const int64_t bytes = prepared_bytes(*weight, compute);
      if (working_bytes(stage) + kept + bytes > plan.budget) break;
      kept += bytes;
      plan.kept.insert(weight);
    }
    plan.peak = std::max(plan.peak, working_bytes(stage) + kept);
    if (stage.weights > most) most = stage.weights, plan.kept_bytes = kept;
  }
}

/// The fastest residency within the budget; nothing when none is. Sets the peak to that of the last one tried.
bool fits(WorkPlan& plan, DType compute) {
  int64_t activations = 0, staged = 0, streamed = 0;
  StagePlan before;
  for (const StagePlan& stage : plan.stages) {
    activations = std::max(activations, stage.activations);
    const bool together = before.with_next;
    staged = std::max(staged, stage.weights + (together ? before.weights : 0) +
                                  std::max(stage.activations, together ? before.activations : 0));
    streamed = std::max(streamed, working_bytes(stage));
    before = stage;
  }
  for (const auto& [residency, peak] : {std::pair(Residency::kResident, plan.weights + activations),
                                        {Residency::kStaged, staged},
                                        {Residency::kStreamed, streamed}}) {
    plan.residency = residency;
    plan.peak = peak;
    if (peak > plan.budget) continue;
    if (residency == Residency::kStreamed) keep_what_fits(plan, compute);
    return true;
  }
  return false;
}

int64_t cgroup_free() {
  std::ifstream limit_file("/sys/fs/cgroup/memory.max"), used_file("/sys/fs/cgroup/memory.current");
  int64_t limit = 0, used = 0;
  if (limit_file >> limit && used_file >> used) return std::max<int64_t>(0, limit - used);
  return INT64_MAX;
}

/// The stages, measured.
WorkPlan measured(LatentDiffusion& model, const LatentCodec& codec, const Request& request, DType compute,
                  const Preview* preview) {
  Measuring measuring{model, request, compute};
  const LatentFormat& format = model.latent_format();
  const int64_t h = *request.height / format.scale, w = *request.width / format.scale;
  const SamplingSetup setup = sampling_setup(model, request);
  const PromptPlan prompts = plan_prompts(request, setup);

  MetaDevice text, encode, denoise, decode;
  for (MetaDevice* device : {&encode, &denoise, &decode}) device->set_wrap(wrap_of(request));
  Conditioning longest;
  for (const std::string& prompt : prompts.texts) {
    const Conditioning states = model.encode(text, compute, prompt, prompt_options(request));
    if (!longest.context || states.context.dim(1) > longest.context.dim(1)) longest = states;
  }
  measuring.add("text", text, 1);

  const bool extra = model.extra_input() == ExtraInput::kMaskAndPicture, over = !request.init_image.empty();
  if (over || extra) {
    const std::vector<float> picture(3 * static_cast<size_t>(*request.height) * static_cast<size_t>(*request.width));
    (void)codec.encode(encode, picture, *request.width, *request.height, compute);
    measuring.add("encode", encode, over && extra ? 2 : 1);
  }
  if (preview) measuring.add(*preview, codec.tiling(), static_cast<int64_t>(setup.sigmas.size()) - 1);

  const auto n = static_cast<int64_t>(prompts.cond.size() + !prompts.uncond.empty() + prompts.empty.has_value());
  const int64_t channels = extra ? 2 * format.channels + 1 : format.channels;
  {
    const Tensor context = denoise.empty({n, longest.context.dim(1), longest.context.dim(2)}, compute);
    const Tensor vector = longest.vector ? denoise.empty({n, longest.vector.dim(1)}, compute) : Tensor();
    (void)model.predict(denoise.empty({n, h, w, channels}, compute), 999.f, context, vector);
  }
  measuring.add("denoise", denoise, int64_t{evaluations(setup.sampler, setup.sigmas)} * request.batch_count);

  (void)codec.decode(decode, measuring.latent(format), compute);
  measuring.add("decode", decode, request.batch_count);
  measuring.add_whole_picture(codec);
  return std::move(measuring.plan);
}

}  // namespace

int64_t WorkPlan::flops() const {
  int64_t sum = 0;
  for (const StagePlan& stage : stages) sum += stage.flops;
  return sum;
}

std::vector<const WeightData*> WorkPlan::streamed(const StagePlan& stage) const {
  std::vector<const WeightData*> result;
  if (residency != Residency::kStreamed) return result;
  for (const WeightData* weight : stage.order)
    if (!kept.contains(weight)) result.push_back(weight);
  return result;
}

std::string WorkPlan::weights_text() const {
  if (residency != Residency::kStreamed) return to_string(residency);
  int64_t most = 0;
  for (const StagePlan& stage : stages) most = std::max(most, stage.weights);
  return fmt::format("streamed, but for {} of {}", bytes_text(kept_bytes), bytes_text(most));
}

WorkPlan make_plan(LatentDiffusion& model, const LatentCodec& codec, const Request& request, DType compute,
                   int64_t budget, const Preview* preview) {
  const auto plan_with = [&](const LatentCodec& cutting) {
    WorkPlan plan = measured(model, cutting, request, compute, preview);
    plan.budget = budget;
    return plan;
  };
  WorkPlan plan = plan_with(codec);
  if (fits(plan, compute)) return plan;
  const int scale = model.latent_format().scale, longer = std::max(*request.width, *request.height) / scale;
  if (codec.tiles(wrap_of(request), *request.width / scale, *request.height / scale) == 1)
    for (const int side : fallback_tile_sides()) {
      if (side >= longer) continue;
      const Tiling tiling{side, side, kTileOverlap};
      plan = plan_with(codec.with(tiling));
      plan.tiling = tiling;
      if (fits(plan, compute)) return plan;
    }
  fail(ErrorCode::kOutOfMemory,
       "{}x{} needs at least {} of memory and {} are to be had; paint a smaller picture, or raise --memory",
       *request.width, *request.height, bytes_text(plan.peak), bytes_text(budget));
}

int64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  int64_t kib = 0;
  while (file >> key >> kib >> unit)
    if (key == "MemAvailable:") return std::min(kib * 1024, cgroup_free());
  return std::min<int64_t>(int64_t{4} << 30, cgroup_free());
}

std::string bytes_text(int64_t bytes) {
  const double mib = static_cast<double>(bytes) / 1048576;
  return mib < 1024 ? fmt::format("{:.0f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024);
}

const char* to_string(Residency residency) {
  switch (residency) {
    case Residency::kResident:
      return "resident";
    case Residency::kStaged:
      return "staged";
    case Residency::kStreamed:
      return "streamed";
  }
  return "";
}

}  // namespace gesso
