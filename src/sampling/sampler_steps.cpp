#include "sampling/sampler_steps.h"

#include <algorithm>
#include <cmath>

namespace gesso {

Latent euler_step(const Latent& x, const Latent& denoised, double sigma, double next) {
  return weighted_sum(next / sigma, x, 1 - next / sigma, denoised);
}

Latent slope(const Latent& x, const Latent& denoised, double sigma) {
  return weighted_sum(1 / sigma, x, -1 / sigma, denoised);
}

AncestralStep ancestral_step(const SamplerContext& context, double sigma, double next) {
  const double eta = *context.options.eta;
  if (eta == 0 || next == 0) return {next, 1, 0};
  if (!context.flow) {
    const double variance = next * next * (sigma * sigma - next * next) / (sigma * sigma);
    const double up = std::min(next, eta * std::sqrt(std::max(variance, 0.0)));
    return {std::sqrt(next * next - up * up), 1, up};
  }
  const double down = next * (1 + (next / sigma - 1) * std::min(eta, 1.0));
  const double keep = (1 - next) / (1 - down);
  return {down, keep, std::sqrt(std::max(next * next - down * down * keep * keep, 0.0))};
}

Latent renoised(const SamplerContext& context, const AncestralStep& step, Latent x, double sigma, double next) {
  if (step.up == 0 || context.options.s_noise == 0) return scaled(step.keep, std::move(x));
  return weighted_sum(step.keep, x, step.up * context.options.s_noise, context.draw(x, sigma, next));
}

double alpha_of(const SamplerContext& context, double sigma) {
  return context.flow ? 1 - sigma : 1;
}

double lambda_of(const SamplerContext& context, double sigma) {
  return std::log(alpha_of(context, sigma) / sigma);
}

double sigma_of_lambda(const SamplerContext& context, double lambda) {
  return context.flow ? 1 / (1 + std::exp(lambda)) : std::exp(-lambda);
}

std::vector<double> sigmas_with_finite_lambda(const SamplerContext& context) {
  constexpr double kBelowOne = 0.9999;
  std::vector<double> sigmas(context.sigmas.begin(), context.sigmas.end());
  if (context.flow && sigmas[0] >= 1) sigmas[0] = std::max(kBelowOne, sigmas[1] + (1 - sigmas[1]) / 2);
  return sigmas;
}

Latent History::added_to(const Latent& x, std::span<const double> weights) const {
  Latent result = x;
  for (size_t i = 0; i < result.size(); ++i) {
    double sum = x.values[i];
    for (size_t k = 0; k < weights.size(); ++k) sum += weights[k] * values_[k].values[i];
    result.values[i] = static_cast<float>(sum);
  }
  return result;
}

}  // namespace gesso
