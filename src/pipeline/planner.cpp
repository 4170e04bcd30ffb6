#include "pipeline/planner.h"

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "device/meta/meta_device.h"
#include "ops/ops.h"
#include "pipeline/prompts.h"

namespace gesso {
namespace {

int64_t prepared_bytes(const WeightData& weight, DType compute) {
  return weight.shape().elements() * size_of(compute);
}

StagePlan measured(const char* name, const MetaDevice& meta, DType compute, int64_t repeats) {
  StagePlan stage{.name = name, .repeats = repeats, .flops = meta.flops() * repeats};
  for (const WeightData* weight : meta.weights()) {
    const int64_t bytes = prepared_bytes(*weight, compute);
    stage.order.push_back(weight);
    stage.weights += bytes;
    stage.largest = std::max(stage.largest, bytes);
  }
  stage.activations = meta.peak_bytes();
  return stage;
}

/// What the operation that runs takes besides weights that stay: its activations, and the weight that it reads, plain
/// and prepared.
int64_t working_bytes(const StagePlan& stage) {
  return 2 * stage.largest + stage.activations;
}

/// Keeps weights of each stage while there is room. Every one is used once an evaluation, so that the time saved goes
/// by their bytes; the small ones go first, since each that is streamed costs a little besides.
void keep_what_fits(WorkPlan& plan, DType compute) {
  int64_t most = 0;
  for (const StagePlan& stage : plan.stages) {
    std::vector<const WeightData*> smallest_first = stage.order;
    std::ranges::stable_sort(smallest_first, {}, [&](const WeightData* w) { return prepared_bytes(*w, compute); });
    int64_t kept = 0;
    for (const WeightData* weight : smallest_first) {
      const int64_t bytes = prepared_bytes(*weight, compute);
      if (working_bytes(stage) + kept + bytes > plan.budget) break;
      kept += bytes;
      plan.kept.insert(weight);
    }
    plan.peak = std::max(plan.peak, working_bytes(stage) + kept);
    if (stage.weights > most) most = stage.weights, plan.kept_bytes = kept;
  }
}

int64_t cgroup_free() {
  std::ifstream limit_file("/sys/fs/cgroup/memory.max"), used_file("/sys/fs/cgroup/memory.current");
  int64_t limit = 0, used = 0;
  if (limit_file >> limit && used_file >> used) return std::max<int64_t>(0, limit - used);
  return INT64_MAX;
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

WorkPlan make_plan(LatentDiffusion& model, const Request& request, DType compute, int64_t budget) {
  WorkPlan plan;
  plan.budget = budget;
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
  plan.stages.push_back(measured("text", text, compute, 1));

  const bool extra = model.extra_input() == ExtraInput::kMaskAndPicture, over = !request.init_image.empty();
  if (over || extra) {
    (void)model.encode_picture(encode.empty({1, *request.height, *request.width, 3}, compute));
    plan.stages.push_back(measured("encode", encode, compute, over && extra ? 2 : 1));
  }

  const auto n = static_cast<int64_t>(prompts.cond.size() + !prompts.uncond.empty() + prompts.empty.has_value());
  const int64_t channels = extra ? 2 * format.channels + 1 : format.channels;
  {
    const Tensor context = denoise.empty({n, longest.context.dim(1), longest.context.dim(2)}, compute);
    const Tensor vector = longest.vector ? denoise.empty({n, longest.vector.dim(1)}, compute) : Tensor();
    (void)model.predict(denoise.empty({n, h, w, channels}, compute), 999.f, context, vector);
  }
  plan.stages.push_back(
      measured("denoise", denoise, compute, int64_t{evaluations(setup.sampler, setup.sigmas)} * request.batch_count));

  (void)cast(model.decode(decode.empty({1, h, w, format.channels}, compute)), DType::kF32);
  plan.stages.push_back(measured("decode", decode, compute, request.batch_count));

  int64_t all = 0, activations = 0, staged = 0, streamed = 0;
  for (const StagePlan& stage : plan.stages) {
    all += stage.weights;
    activations = std::max(activations, stage.activations);
    staged = std::max(staged, stage.weights + stage.activations);
    streamed = std::max(streamed, working_bytes(stage));
  }
  if (plan.peak = all + activations; plan.peak <= budget) return plan;
  plan.residency = Residency::kStaged;
  if (plan.peak = staged; plan.peak <= budget) return plan;
  plan.residency = Residency::kStreamed;
  if (plan.peak = streamed; plan.peak <= budget) {
    keep_what_fits(plan, compute);
    return plan;
  }
  fail(ErrorCode::kOutOfMemory,
       "{}x{} needs at least {} of memory and {} are to be had; paint a smaller picture, or raise --memory",
       *request.width, *request.height, bytes_text(streamed), bytes_text(budget));
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
