#include <cmath>

#include "sampling/sampler_steps.h"

namespace gesso {
namespace {

/// phi_1 and phi_2 of exponential integrators at -h.
struct Phi {
  double first, second;
  explicit Phi(double h) : first(-std::expm1(-h) / h), second((1 - first) / h) {}
};

}  // namespace

/// Zhang et al. 2023, "Improved Order Analysis and Design of Exponential Integrator for Diffusion Models Sampling"
/// (RES), second-order multistep as in ComfyUI: with eta the ancestral form. First order in the first step and in one
/// to 0.
Latent sample_res_multistep(const Denoise& denoise, Latent x, const SamplerContext& context) {
  Latent before;
  double down_before = 0;
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1];
    Latent denoised = denoise(x, sigma).denoised;
    const AncestralStep step = ancestral_step(context, sigma, next);
    if (step.down == 0 || i == 0) {
      x = euler_step(x, denoised, sigma, step.down);
    } else {
      const double h = std::log(sigma / step.down), c2 = std::log(down_before / context.sigmas[i - 1]) / h;
      const Phi phi(h);
      // An eta that took the step before all the way to 0 leaves no line to extend.
      const double extension = std::isfinite(c2) && c2 != 0 ? phi.second / c2 : 0;
      x = sum_of({{std::exp(-h), x}, {h * (phi.first - extension), denoised}, {h * extension, before}});
    }
    if (next > 0) x = renoised(context, step, std::move(x), sigma, next);
    context.report(i, x, denoised);
    before = std::move(denoised);
    down_before = step.down;
  }
  return x;
}

/// RES in single steps of two stages, the second halfway in ln(sigma) (the same paper; stable-diffusion.cpp).
Latent sample_res_2s(const Denoise& denoise, Latent x, const SamplerContext& context) {
  constexpr double kC2 = 0.5;
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1];
    const Latent denoised = denoise(x, sigma).denoised;
    const AncestralStep step = ancestral_step(context, sigma, next);
    if (step.down == 0) {
      x = denoised;
    } else {
      const double h = std::log(sigma / step.down);
      const double middle = sigma * std::exp(-kC2 * h);
      const Latent denoised_there = denoise(euler_step(x, denoised, sigma, middle), middle).denoised;
      const Phi phi(h);
      const double late = h * phi.second / kC2, early = h * phi.first - late;
      x = sum_of({{1 - early - late, x}, {early, denoised}, {late, denoised_there}});
    }
    if (next > 0) x = renoised(context, step, std::move(x), sigma, next);
    context.report(i, x, denoised);
  }
  return x;
}

namespace {

/// The noise scale of ER-SDE-Solvers (Cui et al. 2023, equation 20, ER-SDE 5).
double noise_scale(double x) {
  return x * (std::exp(std::pow(x, 0.3)) + 10);
}

}  // namespace

/// Cui et al. 2023, "Elucidating the Solution Space of Extended Reverse-Time SDE", ER-SDE-Solver-3 as in ComfyUI, whose
/// sums of 200 rectangles these are. eta multiplies the noise.
Latent sample_er_sde(const Denoise& denoise, Latent x, const SamplerContext& context) {
  constexpr int kPoints = 200;
  const std::vector<double> sigmas = sigmas_with_finite_lambda(context);
  const auto ratio = [&](int i) {
    return sigmas[static_cast<size_t>(i)] / alpha_of(context, sigmas[static_cast<size_t>(i)]);
  };
  Latent before, change_before;
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = sigmas[static_cast<size_t>(i)], next = sigmas[static_cast<size_t>(i) + 1];
    Latent denoised = denoise(x, sigma).denoised;
    if (next == 0) {
      x = denoised;
      context.report(i, x, denoised);
      continue;
    }
    const double from = ratio(i), to = ratio(i + 1), alpha = alpha_of(context, next);
    const double r = noise_scale(to) / noise_scale(from), h = to - from;
    x = weighted_sum(alpha / alpha_of(context, sigma) * r, x, alpha * (1 - r), denoised);
    if (i > 0) {
      double sum = 0, moment = 0;
      for (int k = 0; k < kPoints; ++k) {
        const double at = to - k * h / kPoints;
        sum += 1 / noise_scale(at);
        moment += (at - from) / noise_scale(at);
      }
      const double width = -h / kPoints * noise_scale(to), per = 1 / (from - ratio(i - 1));
      Latent change = weighted_sum(per, denoised, -per, before);
      x = weighted_sum(1, x, alpha * (h + width * sum), change);
      if (i > 1) {
        const double factor = alpha * (h * h / 2 + width * moment) * 2 / (from - ratio(i - 2));
        x = sum_of({{1, x}, {factor, change}, {-factor, change_before}});
      }
      change_before = std::move(change);
    }
    const double variance = to * to - from * from * r * r;
    const double noise = alpha * *context.options.eta * context.options.s_noise * std::sqrt(std::max(variance, 0.0));
    if (noise > 0) x = weighted_sum(1, x, noise, context.draw(x, sigma, next));
    context.report(i, x, denoised);
    before = std::move(denoised);
  }
  return x;
}

}  // namespace gesso
