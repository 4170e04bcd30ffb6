#include <cmath>

#include "sampling/churn.h"
#include "sampling/sampler_steps.h"

namespace gesso {

/// Karras et al. 2022, algorithm 2: an Euler step, then again with the mean of the slopes at both ends.
Latent sample_heun(const Denoise& denoise, Latent x, const SamplerContext& context) {
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = churn(context, x, i), next = context.sigmas[i + 1];
    const Latent denoised = denoise(x, sigma).denoised;
    Latent there = euler_step(x, denoised, sigma, next);
    if (next > 0) {
      const Latent denoised_there = denoise(there, next).denoised;
      const double half = (next - sigma) / 2;
      x = sum_of(
          {{1 + half / sigma, x}, {-half / sigma, denoised}, {half / next, there}, {-half / next, denoised_there}});
    } else {
      x = std::move(there);
    }
    context.report(i, x, denoised);
  }
  return x;
}

namespace {

/// A step from sigma to `down` with the slope at the geometric mean of both: the midpoint in ln(sigma).
Latent midpoint_step(const Denoise& denoise, const Latent& x, const Latent& denoised, double sigma, double down) {
  const double middle = std::sqrt(sigma * down);
  const Latent there = euler_step(x, denoised, sigma, middle);
  const Latent denoised_there = denoise(there, middle).denoised;
  const double along = (down - sigma) / middle;
  return sum_of({{1, x}, {along, there}, {-along, denoised_there}});
}

}  // namespace

/// Karras et al. 2022, algorithm 2 with DPM-Solver-2's midpoint (k-diffusion).
Latent sample_dpm_2(const Denoise& denoise, Latent x, const SamplerContext& context) {
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = churn(context, x, i), next = context.sigmas[i + 1];
    const Latent denoised = denoise(x, sigma).denoised;
    x = next > 0 ? midpoint_step(denoise, x, denoised, sigma, next) : denoised;
    context.report(i, x, denoised);
  }
  return x;
}

/// The same with ancestral steps (k-diffusion; ComfyUI for flows).
Latent sample_dpm_2_ancestral(const Denoise& denoise, Latent x, const SamplerContext& context) {
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1];
    const Latent denoised = denoise(x, sigma).denoised;
    const AncestralStep step = ancestral_step(context, sigma, next);
    if (step.down > 0) {
      x = midpoint_step(denoise, x, denoised, sigma, step.down);
      x = renoised(context, step, std::move(x), sigma, next);
    } else {
      x = euler_step(x, denoised, sigma, 0);
      if (next > 0) x = renoised(context, step, std::move(x), sigma, next);
    }
    context.report(i, x, denoised);
  }
  return x;
}

/// DPM-Solver++(2S) with ancestral steps (Lu et al. 2022, algorithm 1; k-diffusion, ComfyUI for flows): the estimate is
/// taken at the midpoint in lambda.
Latent sample_dpmpp_2s_ancestral(const Denoise& denoise, Latent x, const SamplerContext& context) {
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1];
    const Latent denoised = denoise(x, sigma).denoised;
    const AncestralStep step = ancestral_step(context, sigma, next);
    if (step.down > 0) {
      constexpr double kBelowOne = 0.9999;  // of ComfyUI, where lambda is infinite
      const double middle =
          context.flow && sigma >= 1
              ? kBelowOne
              : sigma_of_lambda(context, (lambda_of(context, sigma) + lambda_of(context, step.down)) / 2);
      const Latent denoised_there = denoise(euler_step(x, denoised, sigma, middle), middle).denoised;
      x = euler_step(x, denoised_there, sigma, step.down);
    } else {
      x = euler_step(x, denoised, sigma, 0);
    }
    if (next > 0) x = renoised(context, step, std::move(x), sigma, next);
    context.report(i, x, denoised);
  }
  return x;
}

}  // namespace gesso
