#include <algorithm>
#include <cmath>

#include "sampling/sampler_steps.h"

namespace gesso {

/// Lu et al. 2022, "DPM-Solver++", algorithm 2, in lambda = -log(sigma): the estimate is extended along the line
/// through this one and the one before. First order in the first step and in a step to 0.
Latent sample_dpmpp_2m(const Denoise& denoise, Latent x, const SamplerContext& context) {
  Latent before;
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1];
    Latent denoised = denoise(x, sigma).denoised;
    if (i > 0 && next > 0) {
      const double extension = std::log(sigma / next) / std::log(context.sigmas[i - 1] / sigma) / 2;  // 1 / (2 r)
      x = euler_step(x, weighted_sum(1 + extension, denoised, -extension, before), sigma, next);
    } else {
      x = euler_step(x, denoised, sigma, next);
    }
    context.report(i, x, denoised);
    before = std::move(denoised);
  }
  return x;
}

/// The same as changed in AUTOMATIC1111's discussion 8457: the ratio is that of the larger step to the smaller, and the
/// estimate's weight is that of the mean step.
Latent sample_dpmpp_2m_v2(const Denoise& denoise, Latent x, const SamplerContext& context) {
  Latent before;
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1];
    Latent denoised = denoise(x, sigma).denoised;
    if (i > 0 && next > 0) {
      const double h = std::log(sigma / next), h_before = std::log(context.sigmas[i - 1] / sigma);
      const double extension = std::min(h, h_before) / std::max(h, h_before) / 2;
      const double weight = -std::expm1(-(h + h_before) / 2);
      x = sum_of({{next / sigma, x}, {weight * (1 + extension), denoised}, {-weight * extension, before}});
    } else {
      x = euler_step(x, denoised, sigma, next);
    }
    context.report(i, x, denoised);
    before = std::move(denoised);
  }
  return x;
}

namespace {

/// The parts that stochastic multistep steps share, from sigma to `next`, in lambda.
struct SdeStep {
  double h;      ///< of lambda
  double decay;  ///< of x
  double alpha, h_eta;
  double noise;

  SdeStep(const SamplerContext& context, double sigma, double next) {
    h = lambda_of(context, next) - lambda_of(context, sigma);
    const double eta = *context.options.eta;
    decay = next / sigma * std::exp(-h * eta);
    alpha = alpha_of(context, next);
    h_eta = h * (eta + 1);
    noise = next * std::sqrt(-std::expm1(-2 * h * eta)) * context.options.s_noise;
  }
  /// Of an estimate that does not change over the step.
  double weight() const { return -alpha * std::expm1(-h_eta); }
  /// Of its first and second derivative, in units of h (phi_2, phi_3 of the papers).
  double first() const { return std::expm1(-h_eta) / h_eta + 1; }
  double second() const { return first() / h_eta - 0.5; }
};

Latent with_noise(const SamplerContext& context, Latent x, const SdeStep& step, double sigma, double next) {
  if (!(step.noise > 0)) return x;
  return weighted_sum(1, x, step.noise, context.draw(x, sigma, next));
}

}  // namespace

/// DPM-Solver++(2M) for the stochastic equation, midpoint form (k-diffusion).
Latent sample_dpmpp_2m_sde(const Denoise& denoise, Latent x, const SamplerContext& context) {
  const std::vector<double> sigmas = sigmas_with_finite_lambda(context);
  Latent before;
  double h_before = 0;
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = sigmas[i], next = sigmas[i + 1];
    Latent denoised = denoise(x, sigma).denoised;
    if (next > 0) {
      const SdeStep step(context, sigma, next);
      const double extension = i > 0 ? 0.5 * step.weight() * step.h / h_before : 0;
      x = sum_of({{step.decay, x}, {step.weight() + extension, denoised}, {-extension, i > 0 ? before : denoised}});
      x = with_noise(context, std::move(x), step, sigma, next);
      h_before = step.h;
    } else {
      x = denoised;
    }
    context.report(i, x, denoised);
    before = std::move(denoised);
  }
  return x;
}

/// DPM-Solver++(3M) for the stochastic equation (k-diffusion): the second step is the 2M one in its Heun form.
Latent sample_dpmpp_3m_sde(const Denoise& denoise, Latent x, const SamplerContext& context) {
  const std::vector<double> sigmas = sigmas_with_finite_lambda(context);
  History estimates(3);
  double h_1 = 0, h_2 = 0;
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = sigmas[i], next = sigmas[i + 1];
    estimates.push(denoise(x, sigma).denoised);
    const Latent& denoised = estimates[0];
    if (next > 0) {
      const SdeStep step(context, sigma, next);
      double weights[3] = {step.weight(), 0, 0};
      const double first = step.alpha * step.first(), second = step.alpha * step.second();
      if (i == 1) {
        const double r = h_1 / step.h;
        weights[0] += first / r, weights[1] -= first / r;
      } else if (i > 1) {
        const double r0 = h_1 / step.h, r1 = h_2 / step.h;
        // d1 = near + (near - far) r0 / (r0 + r1), d2 = (near - far) / (r0 + r1); near, far: divided differences
        const double near = first * (1 + r0 / (r0 + r1)) - second / (r0 + r1);
        const double far = -first * r0 / (r0 + r1) + second / (r0 + r1);
        weights[0] += near / r0;
        weights[1] += far / r1 - near / r0;
        weights[2] -= far / r1;
      }
      x = estimates.added_to(scaled(step.decay, std::move(x)),
                             std::span<const double>(weights, static_cast<size_t>(std::min(i + 1, 3))));
      x = with_noise(context, std::move(x), step, sigma, next);
      h_2 = h_1, h_1 = step.h;
    } else {
      x = denoised;
    }
    context.report(i, x, denoised);
  }
  return x;
}

/// DPM-Solver++ for the stochastic equation in single steps (k-diffusion): noise at the midpoint too.
Latent sample_dpmpp_sde(const Denoise& denoise, Latent x, const SamplerContext& context) {
  const std::vector<double> sigmas = sigmas_with_finite_lambda(context);
  SamplerContext plain = context;  // steps in units of alpha, in which a flow is a diffusion
  plain.flow = false;
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = sigmas[i], next = sigmas[i + 1];
    const Latent denoised = denoise(x, sigma).denoised;
    if (next > 0) {
      const double lambda = lambda_of(context, sigma), lambda_next = lambda_of(context, next);
      const double middle = sigma_of_lambda(context, (lambda + lambda_next) / 2);
      const auto step_to = [&](double there, const Latent& estimate) {
        const double alpha = alpha_of(context, there), ratio = sigma / alpha_of(context, sigma);
        const AncestralStep step = ancestral_step(plain, ratio, there / alpha);
        const double kept = step.down / ratio;
        Latent y = weighted_sum(alpha / alpha_of(context, sigma) * kept, x, alpha * (1 - kept), estimate);
        return renoised(context, {0, 1, alpha * step.up}, std::move(y), sigma, there);
      };
      x = step_to(next, denoise(step_to(middle, denoised), middle).denoised);
    } else {
      x = denoised;
    }
    context.report(i, x, denoised);
  }
  return x;
}

}  // namespace gesso
