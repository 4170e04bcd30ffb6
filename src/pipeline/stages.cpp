#include "pipeline/stages.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "ops/ops.h"
#include "sampling/denoiser.h"
#include "sampling/flow_shift.h"
#include "sampling/guidance.h"
#include "sampling/noise.h"
#include "sampling/prediction.h"
#include "sampling/samplers.h"
#include "sampling/schedule.h"

namespace gesso {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void begin_stage(const Work& work, const char* stage, int steps) {
  work.sink({.kind = Event::Kind::kStage, .stage = stage, .steps = steps});
}

/// Runs `compute` in the stage's type and, should that give NaN or infinity, in f32. `finite` judges the result.
template <typename Compute, typename Finite>
auto guarded(const Work& work, const char* stage, DType& dtype, const Compute& compute, const Finite& finite) {
  auto result = compute(dtype);
  if (finite(result)) return result;
  if (dtype != DType::kF32) {
    work.message(std::string("the ") + stage + " stage gave NaN or infinity in bf16; computing it again in f32");
    dtype = DType::kF32;
    result = compute(dtype);
    if (finite(result)) return result;
  }
  fail(ErrorCode::kNumeric,
       "the {} stage gave NaN or infinity, in f32 too: the model file is damaged, or of another kind than it seems",
       stage);
}

bool finite(const Conditioning& c) {
  return all_finite(c.context) && (!c.vector || all_finite(c.vector));
}

/// Two rows of a batch from two batches of one.
Tensor pair(const Tensor& a, const Tensor& b) {
  std::vector<float> values = to_values(a);
  const std::vector<float> second = to_values(b);
  values.insert(values.end(), second.begin(), second.end());
  Shape shape = a.shape();
  shape.set(0, 2);
  return cast(from_values(a.device(), values, shape), a.dtype());
}

/// The model as the sampling layer sees it: scaled latent and timestep in, raw outputs out, one for each branch.
class NetworkRunner {
 public:
  NetworkRunner(const Work& work, const TextStates& text) : work_(work), text_(text), dtype_(work.compute) {
    // One batch of two halves the weight traffic; it needs prompts of equally many chunks.
    if (text.guided && text.cond.context.shape() == text.uncond.context.shape()) {
      both_.context = pair(text.cond.context, text.uncond.context);
      if (text.cond.vector) both_.vector = pair(text.cond.vector, text.uncond.vector);
    }
  }

  std::vector<Latent> operator()(const Latent& x, double timestep, std::span<const Branch> branches) {
    return guarded(
        work_, "denoise", dtype_, [&](DType dtype) { return run(x, static_cast<float>(timestep), branches, dtype); },
        [](const std::vector<Latent>& outputs) {
          return std::all_of(outputs.begin(), outputs.end(), [](const Latent& l) { return all_finite(l); });
        });
  }

 private:
  std::vector<Latent> run(const Latent& x, float timestep, std::span<const Branch> branches, DType dtype) {
    const Tensor input = upload(work_.device, x, dtype);
    const bool cond_first = branches.size() == 2 && branches[0] == Branch::kCond && branches[1] == Branch::kUncond;
    if (cond_first && both_.context) {
      const Tensor y = predict(pair(input, input), timestep, both_, dtype);
      return {download(y.slice(0, 1)), download(y.slice(1, 2))};
    }
    std::vector<Latent> outputs;
    for (const Branch branch : branches)
      outputs.push_back(download(predict(input, timestep, branch == Branch::kCond ? text_.cond : text_.uncond, dtype)));
    return outputs;
  }

  Tensor predict(const Tensor& x, float timestep, const Conditioning& c, DType dtype) {
    return work_.model.predict(x, timestep, cast(c.context, dtype), c.vector ? cast(c.vector, dtype) : c.vector);
  }

  const Work& work_;
  const TextStates& text_;
  Conditioning both_;
  DType dtype_;
};

/// The noise levels that the network was trained on.
SigmaTable noise_levels(const Work& work, const Prediction& prediction) {
  const Denoising& denoising = work.model.denoising();
  if (prediction.name == "flow") {
    const LatentFormat& format = work.model.latent_format();
    const int unit = format.scale * format.patch;
    const int tokens = (*work.request.width / unit) * (*work.request.height / unit);
    return SigmaTable::flow(denoising.shift_by_tokens ? shift_of_mu(mu_for_tokens(tokens)) : denoising.flow_shift);
  }
  const std::vector<float> alphas = scaled_linear_alphas_cumprod();
  return SigmaTable::from_alphas_cumprod(denoising.zero_terminal_snr ? zero_terminal_snr(alphas) : alphas);
}

}  // namespace

Tensor upload(Device& device, const Latent& latent, DType dtype) {
  const Tensor x = from_values(device, latent.values, {1, latent.channels, latent.height, latent.width});
  return cast(to_channels_last(x), dtype);
}

Latent download(const Tensor& x) {
  const Tensor y = to_channels_first(cast(x, DType::kF32));
  return {static_cast<int>(y.dim(1)), static_cast<int>(y.dim(2)), static_cast<int>(y.dim(3)), to_values(y)};
}

TextStates encode_text(const Work& work) {
  TextStates text;
  text.guided = *work.request.cfg_scale != 1.0;
  begin_stage(work, "text", text.guided ? 2 : 1);
  const PromptOptions options{*work.request.clip_skip, *work.request.width, *work.request.height,
                              *work.request.guidance};
  DType dtype = work.compute;
  const auto encode = [&](const std::string& prompt, int step) {
    const double start = seconds_now();
    const Conditioning result = guarded(
        work, "text", dtype, [&](DType d) { return work.model.encode(work.device, d, prompt, options); },
        [](const Conditioning& c) { return finite(c); });
    if (!result.notice.empty()) work.message(result.notice);
    const double seconds = seconds_now() - start;
    const int steps = text.guided ? 2 : 1;
    work.sink({.kind = Event::Kind::kStep,
               .stage = "text",
               .step = step,
               .steps = steps,
               .seconds = seconds,
               .eta = seconds * (steps - step)});
    return result;
  };
  text.cond = encode(work.request.prompt, 1);
  if (text.guided) text.uncond = encode(work.request.negative_prompt, 2);
  return text;
}

Latent denoise(const Work& work, const TextStates& text, int64_t seed) {
  const Request& request = work.request;
  const LatentFormat& format = work.model.latent_format();
  const Prediction& prediction = find_prediction(request.prediction);
  const SigmaTable table = noise_levels(work, prediction);
  const Sampler& sampler = *find_sampler(*request.sampling_method).sampler;
  const std::vector<double> sigmas = find_schedule(*request.scheduler).sigmas(table, *request.steps);

  begin_stage(work, "denoise", static_cast<int>(sigmas.size()) - 1);
  const auto noise = find_noise_source(request.rng).make(static_cast<uint64_t>(seed));
  const Latent empty = zero_latent(format.channels, *request.height / format.scale, *request.width / format.scale);
  const Latent start = noised(prediction, empty, noise_like(*noise, empty), sigmas.front());

  double last = seconds_now();
  const double begin = last;
  SamplerContext context{.sigmas = sigmas, .noise = *noise, .eta = request.eta.value_or(1.0)};
  context.on_step = [&](int step, int steps, const Latent&, const Latent&) {
    const double now = seconds_now();
    work.sink({.kind = Event::Kind::kStep,
               .stage = "denoise",
               .step = step,
               .steps = steps,
               .seconds = now - last,
               .eta = (now - begin) / step * (steps - step)});
    last = now;
  };
  const GuidanceOptions guidance{.scale = text.guided ? *request.cfg_scale : 1.0};
  const auto runner = std::make_shared<NetworkRunner>(work, text);
  const Denoise denoiser =
      make_denoiser([runner](const Latent& x, double t, std::span<const Branch> b) { return (*runner)(x, t, b); },
                    prediction, table, find_guidance("cfg"), guidance);
  return sample(sampler, denoiser, start, context);
}

std::vector<uint8_t> decode(const Work& work, const Latent& latent) {
  begin_stage(work, "decode", 1);
  const double start = seconds_now();
  const LatentFormat& format = work.model.latent_format();
  Latent unscaled = latent;
  for (float& value : unscaled.values) value = value / format.factor + format.shift;
  DType dtype = work.compute;
  const Tensor image = guarded(
      work, "decode", dtype,
      [&](DType d) { return cast(work.model.decode(upload(work.device, unscaled, d)), DType::kF32); },
      [](const Tensor& y) { return all_finite(y); });
  const std::vector<float> values = to_values(image);
  std::vector<uint8_t> pixels(values.size());
  std::transform(values.begin(), values.end(), pixels.begin(), [](float v) {
    return static_cast<uint8_t>(std::lround(std::clamp(v * 127.5f + 127.5f, 0.f, 255.f)));
  });
  work.sink({.kind = Event::Kind::kStep, .stage = "decode", .step = 1, .steps = 1, .seconds = seconds_now() - start});
  return pixels;
}

}  // namespace gesso
