#include <algorithm>
#include <cmath>
#include <numbers>

#include "sampling/churn.h"
#include "sampling/sampler_steps.h"

namespace gesso {

/// Karras et al. 2022, algorithm 2 without the correction.
Latent sample_euler(const Denoise& denoise, Latent x, const SamplerContext& context) {
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = churn(context, x, i), next = context.sigmas[i + 1];
    const Latent denoised = denoise(x, sigma).denoised;
    x = euler_step(x, denoised, sigma, next);
    context.report(i, x, denoised);
  }
  return x;
}

/// Euler steps to a lower sigma than the next, then noise up to it. With eta between 0 and 1 this is DDIM (Song et al.
/// 2020) and with 1 DDPM (Ho et al. 2020), written in sigma.
Latent sample_euler_ancestral(const Denoise& denoise, Latent x, const SamplerContext& context) {
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1];
    const AncestralStep step = ancestral_step(context, sigma, next);
    const Latent denoised = denoise(x, sigma).denoised;
    x = euler_step(x, denoised, sigma, step.down);
    if (next > 0) x = renoised(context, step, std::move(x), sigma, next);
    context.report(i, x, denoised);
  }
  return x;
}

/// CFG++ (Chung et al. 2024) as ComfyUI has it: a step towards the guided estimate, along the noise of the unguided
/// one.
Latent sample_euler_cfg_pp(const Denoise& denoise, Latent x, const SamplerContext& context) {
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1];
    const Estimate estimate = denoise(x, sigma);
    if (next == 0) {
      x = estimate.denoised;
    } else {
      // In units of alpha, in which a flow is a diffusion.
      const double alpha = alpha_of(context, sigma), alpha_next = alpha_of(context, next);
      SamplerContext plain = context;
      plain.flow = false;
      const double from = alpha > 0 ? sigma / alpha : 1e30;
      const AncestralStep step = ancestral_step(plain, from, next / alpha_next);
      const double along = alpha_next * step.down / sigma;
      x = sum_of({{alpha_next, estimate.denoised}, {along, x}, {-along * alpha, estimate.uncond}});
      x = renoised(context, {0, 1, alpha_next * step.up}, std::move(x), sigma, next);
    }
    context.report(i, x, estimate.denoised);
  }
  return x;
}

/// Permenter and Yuan 2023, "Interpreting and Improving Diffusion Models from an Optimization Perspective": the slope
/// is extended beyond this step's, away from the one before.
Latent sample_gradient_estimation(const Denoise& denoise, Latent x, const SamplerContext& context) {
  Latent before;
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1];
    const Latent denoised = denoise(x, sigma).denoised;
    Latent here = slope(x, denoised, sigma);
    if (next == 0)
      x = denoised;
    else if (i == 0)
      x = euler_step(x, denoised, sigma, next);
    else
      x = sum_of({{1, x},
                  {context.options.gamma * (next - sigma), here},
                  {(1 - context.options.gamma) * (next - sigma), before}});
    before = std::move(here);
    context.report(i, x, denoised);
  }
  return x;
}

}  // namespace gesso
