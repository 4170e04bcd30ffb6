#include <algorithm>
#include <cmath>

#include "sampling/samplers.h"

namespace gesso {
namespace {

/// A step to sigma `next` as a step to a lower sigma and noise that brings it back up.
struct AncestralStep {
  double down, up;
};

AncestralStep ancestral_step(double sigma, double next, double eta) {
  const double variance = next * next * (sigma * sigma - next * next) / (sigma * sigma);
  const double up = std::min(next, eta * std::sqrt(std::max(variance, 0.0)));
  return {std::sqrt(next * next - up * up), up};
}

}  // namespace

/// Karras et al. 2022, algorithm 1 without the correction.
Latent sample_euler(const Denoise& denoise, Latent x, const SamplerContext& context) {
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1];
    const Latent denoised = denoise(x, sigma);
    x = euler_step(x, denoised, sigma, next);
    context.report(i, x, denoised);
  }
  return x;
}

/// Euler steps to a lower sigma than the next, then noise up to it.
Latent sample_euler_ancestral(const Denoise& denoise, Latent x, const SamplerContext& context) {
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1];
    const AncestralStep step = ancestral_step(sigma, next, context.eta);
    const Latent denoised = denoise(x, sigma);
    x = euler_step(x, denoised, sigma, step.down);
    if (next > 0) {
      const Latent noise = noise_like(context.noise, x);
      x = weighted_sum(1, std::move(x), context.s_noise * step.up, noise);
    }
    context.report(i, x, denoised);
  }
  return x;
}

}  // namespace gesso
