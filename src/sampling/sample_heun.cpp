#include "sampling/samplers.h"

namespace gesso {

/// Karras et al. 2022, algorithm 1: an Euler step, then again with the mean of the slopes at both ends.
Latent sample_heun(const Denoise& denoise, Latent x, const SamplerContext& context) {
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1];
    const Latent denoised = denoise(x, sigma);
    Latent there = euler_step(x, denoised, sigma, next);
    if (next > 0) {
      const Latent denoised_there = denoise(there, next);
      const double half = (next - sigma) / 2;
      x = weighted_sum(1 + half / sigma, std::move(x), -half / sigma, denoised);
      x = weighted_sum(1, std::move(x), half / next, there);
      x = weighted_sum(1, std::move(x), -half / next, denoised_there);
    } else {
      x = std::move(there);
    }
    context.report(i, x, denoised);
  }
  return x;
}

}  // namespace gesso
