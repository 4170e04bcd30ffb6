#include "pipeline/stages.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "base/error.h"
#include "ops/ops.h"
#include "pipeline/guarded.h"
#include "pipeline/preview.h"
#include "pipeline/sampling_setup.h"
#include "sampling/denoiser.h"
#include "sampling/noise.h"
#include "sampling/variation.h"

namespace gesso {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void begin_stage(const Work& work, const char* stage, int steps) {
  work.sink({.kind = Event::Kind::kStage, .stage = stage, .steps = steps});
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
  NetworkRunner(const Work& work, const TextStates& text, const Latent& extra)
      : work_(work), text_(text), extra_(extra), dtype_(work.compute) {}

  /// The step, from 0, that the next evaluations belong to: it decides the texts.
  void set_step(int step) { step_ = std::min(static_cast<size_t>(step), text_.plan.cond[0].steps.size() - 1); }

  std::vector<Latent> operator()(const Latent& x, double timestep, std::span<const Branch> branches) {
    return guarded(
        work_.sink, "denoise", dtype_,
        [&](DType dtype) { return run(x, static_cast<float>(timestep), branches, dtype); },
        [](const std::vector<Latent>& outputs) {
          return std::all_of(outputs.begin(), outputs.end(), [](const Latent& l) { return all_finite(l); });
        });
  }

 private:
  /// The network's outputs for one latent, each text evaluated once.
  struct Evaluation {
    Tensor input;
    float timestep;
    DType dtype;
    std::map<size_t, Latent> outputs = {};
  };

  std::vector<Latent> run(const Latent& x, float timestep, std::span<const Branch> branches, DType dtype) {
    Evaluation evaluation{upload(work_.device, x, dtype), timestep, dtype};
    if (extra_.size() > 0) evaluation.input = concat(evaluation.input, upload(work_.device, extra_, dtype));
    const PromptPlan& plan = text_.plan;
    if (branches.size() == 2 && branches[0] == Branch::kCond && branches[1] == Branch::kUncond && plan.cond.size() == 1)
      evaluate_pair(evaluation, plan.cond[0].steps[step_], plan.uncond[step_]);
    std::vector<Latent> outputs;
    for (const Branch branch : branches) outputs.push_back(output_of(branch, evaluation));
    return outputs;
  }

  Latent output_of(Branch branch, Evaluation& evaluation) {
    const PromptPlan& plan = text_.plan;
    switch (branch) {
      case Branch::kCond:
        return composed(evaluation);
      case Branch::kUncond:
        return evaluate(evaluation, plan.uncond[step_]);
      case Branch::kEmpty:
        return evaluate(evaluation, *plan.empty);
      default:
        fail(ErrorCode::kInternal, "this model has no such branch");
    }
  }

  /// The prompt's output: that of its one part, or, of several with weights w, uncond + sum of w (part - uncond), so
  /// that guidance makes of it what A1111 does (modules/sd_samplers_cfg_denoiser.py, combine_denoised).
  Latent composed(Evaluation& evaluation) {
    const PromptPlan& plan = text_.plan;
    if (plan.cond.size() == 1 && plan.cond[0].weight == 1) return evaluate(evaluation, plan.cond[0].steps[step_]);
    std::vector<double> sum;
    double left = 1;
    const auto add = [&](double weight, const Latent& output) {
      sum.resize(output.size(), 0);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += weight * output.values[i];
      left -= weight;
    };
    for (const PromptPlan::Part& part : plan.cond) add(part.weight, evaluate(evaluation, part.steps[step_]));
    if (plan.cond_takes_uncond()) add(left, evaluate(evaluation, plan.uncond[step_]));
    Latent result = evaluate(evaluation, plan.cond[0].steps[step_]);
    std::transform(sum.begin(), sum.end(), result.values.begin(), [](double v) { return static_cast<float>(v); });
    return result;
  }

  const Latent& evaluate(Evaluation& e, size_t text) {
    const auto found = e.outputs.find(text);
    if (found != e.outputs.end()) return found->second;
    return e.outputs[text] = download(predict(e.input, e.timestep, text_.states[text], e.dtype));
  }

  /// One batch of two halves the weight traffic; it needs texts of equally many chunks.
  void evaluate_pair(Evaluation& e, size_t cond, size_t uncond) {
    const Conditioning &a = text_.states[cond], &b = text_.states[uncond];
    if (cond == uncond || !(a.context.shape() == b.context.shape())) return;
    Conditioning& both = pairs_[{cond, uncond}];
    if (!both.context) {
      both.context = pair(a.context, b.context);
      if (a.vector) both.vector = pair(a.vector, b.vector);
    }
    const Tensor y = predict(pair(e.input, e.input), e.timestep, both, e.dtype);
    e.outputs[cond] = download(y.slice(0, 1));
    e.outputs[uncond] = download(y.slice(1, 2));
  }

  Tensor predict(const Tensor& x, float timestep, const Conditioning& c, DType dtype) {
    const Wrapping wrapping(work_.device, wrap_of(work_.request));
    return work_.model.predict(x, timestep, cast(c.context, dtype), c.vector ? cast(c.vector, dtype) : c.vector);
  }

  const Work& work_;
  const TextStates& text_;
  const Latent& extra_;
  std::map<std::pair<size_t, size_t>, Conditioning> pairs_;
  size_t step_ = 0;
  DType dtype_;
};

/// Shows the picture after a step, if a preview is due: what the model takes for it, or the latent with its noise, at
/// the spread that pictures have.
void show_preview(const Work& work, const SamplingSetup& setup, int step, const Latent& x, const Latent& denoised) {
  if (!work.preview || !preview_is_due(work.request, step)) return;
  const NoiseMix mix = setup.prediction.noise_mix(setup.sigmas[static_cast<size_t>(step)]);
  const Wrapping wrapping(work.device, wrap_of(work.request));
  std::optional<Image> image = work.preview->picture(
      work.device, work.request.preview_noisy ? scaled(1 / std::hypot(mix.image, mix.noise), x) : denoised,
      work.compute);
  if (!image) return work.message("there is no preview of this step: it is NaN or infinite");
  work.sink({.kind = Event::Kind::kPreview,
             .stage = "denoise",
             .step = step,
             .steps = static_cast<int>(setup.sigmas.size()) - 1,
             .preview = std::make_shared<Image>(*std::move(image))});
}

/// Keeps the picture where its mask is 0: the denoiser sees it there with noise of the right strength, and answers it.
Denoise keeping(Denoise denoise, const StartingPoint& start, const Prediction& prediction, const Latent& noise) {
  if (start.mask.empty() || start.extra.size() > 0) return denoise;
  const auto blend = [&start](Latent x, const Latent& kept) {
    const size_t plane = start.mask.size();
    for (size_t i = 0; i < x.size(); ++i)
      x.values[i] = kept.values[i] + start.mask[i % plane] * (x.values[i] - kept.values[i]);
    return x;
  };
  return [=, &start, &prediction](const Latent& x, double sigma) {
    Estimate estimate = denoise(blend(x, noised(prediction, start.picture, noise, sigma)), sigma);
    estimate.denoised = blend(std::move(estimate.denoised), start.picture);
    if (estimate.uncond.size() > 0) estimate.uncond = blend(std::move(estimate.uncond), start.picture);
    return estimate;
  };
}

/// The latent of a picture [1, h, w, 3] in [-1, 1], as the model knows it.
Latent encoded(const Work& work, const Tensor& picture) {
  DType dtype = work.compute;
  const Wrapping wrapping(work.device, wrap_of(work.request));
  return guarded(
      work.sink, "encode", dtype,
      [&](DType d) {
        return work.codec.encode(work.device, to_values(picture), static_cast<int>(picture.dim(2)),
                                 static_cast<int>(picture.dim(1)), d);
      },
      [](const Latent& z) { return all_finite(z); });
}

/// What a network for inpainting sees (diffusers' StableDiffusionInpaintPipeline): the mask at every scale-th pixel,
/// and the latent of the picture with the masked part gray.
Latent mask_and_picture(const Work& work, const std::vector<float>& mask, std::vector<float> pixels) {
  const int64_t scale = work.model.latent_format().scale, width = *work.request.width, height = *work.request.height;
  for (size_t i = 0; i < pixels.size(); ++i)
    if (mask[i / 3] > 0.5f) pixels[i] = 0;
  const Latent picture = encoded(work, from_values(work.device, pixels, {1, height, width, 3}));
  Latent extra = zero_latent(1 + picture.channels, picture.height, picture.width);
  for (int y = 0; y < extra.height; ++y)
    for (int x = 0; x < extra.width; ++x)
      extra.values[static_cast<size_t>(y * extra.width + x)] = mask[static_cast<size_t>(y * scale * width + x * scale)];
  std::copy(picture.values.begin(), picture.values.end(), extra.values.begin() + extra.height * extra.width);
  return extra;
}

/// For each pixel of the latent, 1 where any of its pixels is painted anew.
std::vector<float> latent_mask(const std::vector<float>& mask, int width, int scale) {
  const size_t columns = static_cast<size_t>(width / scale), rows = mask.size() / static_cast<size_t>(width * scale);
  std::vector<float> result(columns * rows);
  for (size_t i = 0; i < mask.size(); ++i) {
    const size_t y = i / static_cast<size_t>(width) / static_cast<size_t>(scale);
    const size_t x = i % static_cast<size_t>(width) / static_cast<size_t>(scale);
    result[y * columns + x] = std::max(result[y * columns + x], mask[i]);
  }
  return result;
}

}  // namespace

TextStates encode_text(const Work& work) {
  TextStates text{.plan = plan_prompts(work.request, sampling_setup(work.model, work.request)), .states = {}};
  const int steps = static_cast<int>(text.plan.texts.size());
  begin_stage(work, "text", steps);
  const PromptOptions options = prompt_options(work.request);
  DType dtype = work.compute;
  for (const std::string& prompt : text.plan.texts) {
    const double start = seconds_now();
    const DType asked = dtype;
    if (const auto known = work.texts ? work.texts->find(asked, prompt, options) : std::nullopt) {
      text.states.push_back(known->conditioning);
      dtype = known->computed;
    } else {
      text.states.push_back(guarded(
          work.sink, "text", dtype, [&](DType d) { return work.model.encode(work.device, d, prompt, options); },
          [](const Conditioning& c) { return finite(c); }));
      if (work.texts) work.texts->keep(asked, prompt, options, {text.states.back(), dtype});
    }
    if (const std::string& notice = text.states.back().notice; !notice.empty()) work.message(notice);
    const double seconds = seconds_now() - start;
    const int step = static_cast<int>(text.states.size());
    work.sink({.kind = Event::Kind::kStep,
               .stage = "text",
               .step = step,
               .steps = steps,
               .seconds = seconds,
               .eta = seconds * (steps - step)});
  }
  return text;
}

StartingPoint encode_canvas(const Work& work, const Canvas* canvas) {
  StartingPoint start;
  const bool extra = work.model.extra_input() == ExtraInput::kMaskAndPicture;
  if (!canvas && !extra) return start;
  begin_stage(work, "encode", 1);
  const double begin = seconds_now();
  const int width = *work.request.width, height = *work.request.height;
  const size_t pixels = static_cast<size_t>(width) * static_cast<size_t>(height);
  std::vector<float> values(3 * pixels), mask(pixels, 1.f);
  if (canvas) {
    std::transform(canvas->picture.pixels.begin(), canvas->picture.pixels.end(), values.begin(),
                   [](uint8_t p) { return static_cast<float>(p) / 127.5f - 1; });
    start.picture = encoded(work, from_values(work.device, values, {1, height, width, 3}));
    if (!canvas->mask.empty()) {
      mask = canvas->mask;
      start.mask = latent_mask(mask, width, work.model.latent_format().scale);
    }
  }
  if (extra) start.extra = mask_and_picture(work, mask, std::move(values));
  work.sink({.kind = Event::Kind::kStep, .stage = "encode", .step = 1, .steps = 1, .seconds = seconds_now() - begin});
  return start;
}

Latent denoise(const Work& work, const TextStates& text, const StartingPoint& start, const Seeds& seeds) {
  const Request& request = work.request;
  const LatentFormat& format = work.model.latent_format();
  const SamplingSetup setup = sampling_setup(work.model, request);
  const std::vector<double>& sigmas = setup.sigmas;
  if (sigmas.size() == 1 && start.picture.size() > 0) return start.picture;  // strength 0

  begin_stage(work, "denoise", static_cast<int>(sigmas.size()) - 1);
  const auto noise = find_noise_source(request.rng).make(static_cast<uint64_t>(seeds.seed));
  const Latent empty = zero_latent(format.channels, *request.height / format.scale, *request.width / format.scale);
  Latent first_noise = noise_like(*noise, empty);
  if (const double strength = request.subseed_strength.value_or(0); strength > 0) {
    const auto other = find_noise_source(request.rng).make(static_cast<uint64_t>(seeds.subseed));
    first_noise = varied(first_noise, noise_like(*other, empty), strength);
  }
  const Latent& under = start.picture.size() > 0 ? start.picture : empty;
  const Latent noisy = noised(setup.prediction, under, first_noise, sigmas.front());

  double last = seconds_now();
  const double begin = last;
  SamplerContext context = setup.context(*noise, seeds.seed);
  context.on_step = [&](int step, int steps, const Latent& x, const Latent& denoised) {
    show_preview(work, setup, step, x, denoised);
    const double now = seconds_now();
    work.sink({.kind = Event::Kind::kStep,
               .stage = "denoise",
               .step = step,
               .steps = steps,
               .seconds = now - last,
               .eta = (now - begin) / step * (steps - step)});
    last = now;
  };
  const auto runner = std::make_shared<NetworkRunner>(work, text, start.extra);
  const Denoise guided =
      make_denoiser([runner](const Latent& x, double t, std::span<const Branch> b) { return (*runner)(x, t, b); },
                    setup.prediction, setup.table, setup.guidance, setup.guidance_options);
  const Denoise stepped = [&](const Latent& x, double sigma) {
    runner->set_step(guidance_step(setup.guidance_options, sigma));
    return guided(x, sigma);
  };
  return sample(setup.sampler, keeping(stepped, start, setup.prediction, first_noise), noisy, context);
}

std::vector<uint8_t> decode(const Work& work, const Latent& latent) {
  const int tiles = work.codec.tiles(wrap_of(work.request), latent.width, latent.height);
  begin_stage(work, "decode", tiles);
  const double start = seconds_now();
  const auto tile_done = [&, last = start](int done, int all) mutable {
    const double now = seconds_now(), before = std::exchange(last, now);
    if (done == all) return;  // the pixels are still to come
    work.sink({.kind = Event::Kind::kStep,
               .stage = "decode",
               .step = done,
               .steps = all,
               .seconds = now - before,
               .eta = (now - start) / done * (all - done)});
  };
  DType dtype = work.compute;
  const Wrapping wrapping(work.device, wrap_of(work.request));
  const std::vector<float> values = guarded(
      work.sink, "decode", dtype, [&](DType d) { return work.codec.decode(work.device, latent, d, tile_done); },
      [](const std::vector<float>& v) { return std::ranges::all_of(v, [](float x) { return std::isfinite(x); }); });
  std::vector<uint8_t> pixels(values.size());
  std::transform(values.begin(), values.end(), pixels.begin(), [](float v) {
    return static_cast<uint8_t>(std::lround(std::clamp(v * 127.5f + 127.5f, 0.f, 255.f)));
  });
  work.sink({.kind = Event::Kind::kStep,
             .stage = "decode",
             .step = tiles,
             .steps = tiles,
             .seconds = (seconds_now() - start) / tiles});
  return pixels;
}

}  // namespace gesso
