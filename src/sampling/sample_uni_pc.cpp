#include <algorithm>
#include <cmath>

#include "sampling/sampler_steps.h"

namespace gesso {
namespace {

/// Solves the matrix equation of `size` unknowns by Gauss's elimination with pivots.
std::vector<double> solved(std::vector<std::vector<double>> rows, std::vector<double> right) {
  const size_t size = right.size();
  for (size_t k = 0; k < size; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < size; ++i)
      if (std::abs(rows[i][k]) > std::abs(rows[pivot][k])) pivot = i;
    std::swap(rows[k], rows[pivot]);
    std::swap(right[k], right[pivot]);
    for (size_t i = k + 1; i < size; ++i) {
      const double factor = rows[i][k] / rows[k][k];
      for (size_t j = k; j < size; ++j) rows[i][j] -= factor * rows[k][j];
      right[i] -= factor * right[k];
    }
  }
  for (size_t k = size; k-- > 0;) {
    for (size_t j = k + 1; j < size; ++j) right[k] -= rows[k][j] * right[j];
    right[k] /= rows[k][k];
  }
  return right;
}

enum class Bh { k1, k2 };

/// One step of UniPC from estimates[0]'s sigma, for predicting and for correcting.
class UniPcStep {
 public:
  /// lambdas: of the estimates, newest first; `order` of them are used.
  UniPcStep(std::span<const double> lambdas, double lambda_next, int order, Bh variant)
      : h_(lambda_next - lambdas[0]), order_(order) {
    b_ = variant == Bh::k1 ? -h_ : std::expm1(-h_);
    for (int k = 1; k < order; ++k) ratios_.push_back((lambdas[static_cast<size_t>(k)] - lambdas[0]) / h_);
    double phi = std::expm1(-h_) / -h_ - 1, factorial = 1;
    for (int k = 1; k <= order; ++k) {
      factorial *= k;
      right_.push_back(phi * factorial / b_);
      phi = phi / -h_ - 1 / (factorial * (k + 1));
    }
  }

  /// Weights of the differences between older estimates and the newest one.
  std::vector<double> predictor() const {
    if (order_ == 1) return {};
    if (order_ == 2) return {0.5 / ratios_[0]};
    return divided(solve(ratios_));
  }
  /// The same with the new estimate's difference as the last one.
  std::vector<double> corrector() const {
    std::vector<double> nodes = ratios_;
    nodes.push_back(1);
    if (order_ == 1) return {0.5};
    std::vector<double> weights = solve(nodes);
    for (size_t k = 0; k < ratios_.size(); ++k) weights[k] /= ratios_[k];
    return weights;
  }
  double h() const { return h_; }
  double b() const { return b_; }

 private:
  std::vector<double> solve(const std::vector<double>& nodes) const {
    std::vector<std::vector<double>> rows(nodes.size());
    for (size_t power = 0; power < nodes.size(); ++power)
      for (double node : nodes) rows[power].push_back(std::pow(node, static_cast<double>(power)));
    return solved(rows, {right_.begin(), right_.begin() + static_cast<std::ptrdiff_t>(nodes.size())});
  }
  std::vector<double> divided(std::vector<double> weights) const {
    for (size_t k = 0; k < weights.size(); ++k) weights[k] /= ratios_[k];
    return weights;
  }

  double h_, b_;
  int order_;
  std::vector<double> ratios_, right_;
};

/// Zhao et al. 2023, "UniPC", with estimates of the picture; a step predicts, and before the next one the new estimate
/// corrects it. Order 3, lower in the first and last steps (diffusers, lower_order_final).
Latent sample_uni_pc(const Denoise& denoise, Latent x, const SamplerContext& context, Bh variant) {
  const int highest = std::min(context.options.order_or(3), 3);
  const std::vector<double> sigmas = sigmas_with_finite_lambda(context);
  History estimates(highest + 1);
  std::vector<double> lambdas;  // of the estimates, newest first
  Latent start = x;             // of the last step
  int order_before = 0;
  // To sigma `next` from `start`, whose estimate is `estimates[newest]`.
  const auto move = [&](double sigma, double next, int newest, const UniPcStep& step, std::span<const double> weights) {
    const double alpha = alpha_of(context, next);
    const double base = -alpha * std::expm1(-step.h()), turn = -alpha * step.b();
    std::vector<double> factors(static_cast<size_t>(estimates.size()), 0.0);
    const auto at = [&](int k) -> double& { return factors[static_cast<size_t>(newest + k)]; };
    at(0) = base;
    for (size_t k = 0; k < weights.size(); ++k) {
      const bool is_new = newest == 1 && k + 1 == weights.size();  // the corrector's last
      at(is_new ? -1 : static_cast<int>(k) + 1) += turn * weights[k];
      at(0) -= turn * weights[k];
    }
    return estimates.added_to(scaled(next / sigma, start), factors);
  };
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = sigmas[i], next = sigmas[i + 1];
    estimates.push(denoise(x, sigma).denoised);
    if (i > 0) {
      const UniPcStep step(lambdas, lambda_of(context, sigma), order_before, variant);
      x = move(sigmas[i - 1], sigma, 1, step, step.corrector());
    }
    lambdas.insert(lambdas.begin(), lambda_of(context, sigma));
    lambdas.resize(std::min(lambdas.size(), static_cast<size_t>(highest)));
    start = x;
    const Latent denoised = estimates[0];
    if (next > 0) {
      const int order = std::min({highest, context.steps() - i, i + 1});
      const UniPcStep step(lambdas, lambda_of(context, next), order, variant);
      x = move(sigma, next, 0, step, step.predictor());
      order_before = order;
    } else {
      x = denoised;
    }
    context.report(i, x, denoised);
  }
  return x;
}

}  // namespace

Latent sample_uni_pc_bh1(const Denoise& denoise, Latent x, const SamplerContext& context) {
  return sample_uni_pc(denoise, std::move(x), context, Bh::k1);
}

Latent sample_uni_pc_bh2(const Denoise& denoise, Latent x, const SamplerContext& context) {
  return sample_uni_pc(denoise, std::move(x), context, Bh::k2);
}

}  // namespace gesso
