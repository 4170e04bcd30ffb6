#include <cmath>

#include "sampling/samplers.h"

namespace gesso {

/// Lu et al. 2022, "DPM-Solver++", algorithm 2, in lambda = -log(sigma): the estimate is extended along the line
/// through this one and the one before. First order in the first step and in a step to 0.
Latent sample_dpmpp_2m(const Denoise& denoise, Latent x, const SamplerContext& context) {
  Latent before;
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1];
    Latent denoised = denoise(x, sigma);
    const double h_before = i > 0 ? std::log(context.sigmas[i - 1] / sigma) : 0;
    if (h_before > 0 && next > 0) {
      const double extension = std::log(sigma / next) / h_before / 2;  // 1 / (2 r) of the paper
      x = euler_step(x, weighted_sum(1 + extension, denoised, -extension, before), sigma, next);
    } else {
      x = euler_step(x, denoised, sigma, next);
    }
    context.report(i, x, denoised);
    before = std::move(denoised);
  }
  return x;
}

}  // namespace gesso
