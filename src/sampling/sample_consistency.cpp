#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "sampling/sampler_steps.h"
#include "sampling/schedule_functions.h"

namespace gesso {
namespace {

double standard_deviation(const Latent& x) {
  const auto count = static_cast<double>(x.size());
  double sum = 0, squares = 0;
  for (float value : x.values) sum += value;
  for (float value : x.values) squares += (value - sum / count) * (value - sum / count);
  return std::sqrt(squares / count);
}

}  // namespace

/// Luo et al. 2023, "Latent Consistency Models": to the clean estimate, then noise of the next sigma on it. The noise
/// may be clipped, and its factor may change from the first to the last step (stable-diffusion.cpp, ComfyUI).
Latent sample_lcm(const Denoise& denoise, Latent x, const SamplerContext& context) {
  const double last = context.options.noise_scale_end.value_or(context.options.noise_scale_start);
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1];
    Latent denoised = denoise(x, sigma).denoised;
    x = denoised;
    if (next > 0) {
      Latent noise = context.draw(x, sigma, next);
      if (context.options.noise_clip_std > 0) {
        const auto limit = static_cast<float>(context.options.noise_clip_std * standard_deviation(noise));
        for (float& value : noise.values) value = std::clamp(value, -limit, limit);
      }
      const double scale =
          context.options.noise_scale_start + (last - context.options.noise_scale_start) * progress(i, context.steps());
      x = weighted_sum(alpha_of(context, next), std::move(x), next * scale * context.options.s_noise, noise);
    }
    context.report(i, x, denoised);
  }
  return x;
}

/// Zheng et al. 2024, "Trajectory Consistency Distillation", strategic stochastic sampling with gamma = eta: down to
/// the whole timestep (1 - eta) t, then noise up to t. A step to 0 goes to the estimate.
Latent sample_tcd(const Denoise& denoise, Latent x, const SamplerContext& context) {
  if (!context.table) fail(ErrorCode::kInternal, "tcd needs the model's timesteps");
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1];
    const Latent denoised = denoise(x, sigma).denoised;
    if (next > 0) {
      constexpr double kRounding = 1e-6;  // a whole timestep stays whole through its sigma
      const double eta = std::min(*context.options.eta, 1.0);
      const double timestep = std::floor((1 - eta) * context.table->timestep(next) + kRounding);
      const double down = eta == 0 ? next : std::min(context.table->sigma(timestep), next);
      const double alpha = alpha_of(context, next), keep = alpha / alpha_of(context, down);
      const double along = keep * down / sigma;
      x = sum_of({{alpha - along * alpha_of(context, sigma), denoised}, {along, x}});
      const double up = std::sqrt(std::max(next * next - keep * keep * down * down, 0.0));
      x = renoised(context, {down, 1, up}, std::move(x), sigma, next);
    } else {
      x = denoised;
    }
    context.report(i, x, denoised);
  }
  return x;
}

}  // namespace gesso
