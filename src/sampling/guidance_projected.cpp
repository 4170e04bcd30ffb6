#include <algorithm>
#include <cmath>

#include "sampling/guidance_functions.h"

namespace gesso {
namespace {

double dot(const Latent& a, const Latent& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a.values[i]) * b.values[i];
  return sum;
}

/// How much of `a` lies along `b`: a's projection is this times b.
double projection(const Latent& a, const Latent& b) {
  const double square = dot(b, b);
  return square > 0 ? dot(a, b) / square : 0;
}

/// The factor that brings a direction of this size below the threshold. Sizes are those of a latent of 4 x 128 x 128
/// values, so that a threshold means the same at any resolution (stable-diffusion.cpp); soft where smoothing is above
/// 0.
double shortening(const GuidanceOptions& options, const Latent& direction) {
  constexpr double kRootOfValues = 256;
  if (options.apg_norm_threshold == 0 || direction.size() == 0) return 1;
  const double size = std::sqrt(dot(direction, direction) / static_cast<double>(direction.size())) * kRootOfValues;
  if (size == 0) return 1;
  const double ratio = options.apg_norm_threshold / size, soft = options.apg_norm_threshold_smoothing;
  if (soft == 0) return std::min(1.0, ratio);
  return ratio / std::pow(1 + std::pow(ratio, 1 / soft), soft);
}

}  // namespace

double standard_deviation(std::span<const float> values) {
  const auto count = static_cast<double>(values.size());
  if (values.empty()) return 0;
  double sum = 0, squares = 0;
  for (float value : values) sum += value;
  const double mean = sum / count;
  for (float value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / count);
}

Latent apg_combine(const GuidanceOptions& options, const GuidanceStep& step) {
  const Latent& cond = *step.output(Branch::kCond);
  if (step.scale == 1) return cond;
  // Estimates differ from outputs by skip * x, which falls out of their difference, and by the factor `out`.
  const double out = step.scalings.out;
  const Latent clean = weighted_sum(step.scalings.skip, step.x, out, cond);
  Latent direction = weighted_sum(out, cond, -out, *step.output(Branch::kUncond));
  if (options.apg_momentum != 0) {
    if (step.memory.momentum.same_shape(direction))
      direction = weighted_sum(1, std::move(direction), options.apg_momentum, step.memory.momentum);
    step.memory.momentum = direction;
  }
  const double shorter = shortening(options, direction);
  direction = scaled(shorter, std::move(direction));
  const double along = (options.apg_eta - 1) * projection(direction, clean);
  const double factor = (step.scale - 1) / out;
  return rescaled(options, cond, sum_of({{1, cond}, {factor, direction}, {factor * along, clean}}));
}

std::vector<Branch> perp_neg_branches(const GuidanceOptions& options, double scale) {
  if (options.negative_scale == 0)
    return scale == 1 ? std::vector<Branch>{Branch::kCond} : std::vector<Branch>{Branch::kCond, Branch::kEmpty};
  if (scale == 0) return {Branch::kCond, Branch::kEmpty};
  return {Branch::kCond, Branch::kUncond, Branch::kEmpty};
}

Latent perp_neg_combine(const GuidanceOptions& options, const GuidanceStep& step) {
  const Latent& cond = *step.output(Branch::kCond);
  const Latent* empty = step.output(Branch::kEmpty);
  const Latent* negative = step.output(Branch::kUncond);
  if (!empty) return cond;
  const Latent towards = weighted_sum(1, cond, -1, *empty);
  if (!negative || options.negative_scale == 0)
    return rescaled(options, cond, weighted_sum(1, *empty, step.scale, towards));
  const Latent away = weighted_sum(1, *negative, -1, *empty);
  // The part of `away` across `towards`.
  const double along = projection(away, towards), strength = step.scale * options.negative_scale;
  return rescaled(options, cond, sum_of({{1, *empty}, {step.scale + strength * along, towards}, {-strength, away}}));
}

Latent thresholding_combine(const GuidanceOptions& options, const GuidanceStep& step) {
  const Latent& cond = *step.output(Branch::kCond);
  if (step.scale == 1) return cond;
  const Latent& uncond = *step.output(Branch::kUncond);
  Latent guided = weighted_sum(step.scale, cond, 1 - step.scale, uncond);
  const Latent mimic = weighted_sum(options.mimic_scale, cond, 1 - options.mimic_scale, uncond);
  const auto area = static_cast<size_t>(guided.height) * static_cast<size_t>(guided.width);
  if (area == 0) return guided;
  const auto mean_of = [](std::span<const float> values) {
    double sum = 0;
    for (float value : values) sum += value;
    return sum / static_cast<double>(values.size());
  };
  std::vector<double> sizes(area);
  for (size_t begin = 0; begin + area <= guided.size(); begin += area) {
    const std::span<float> channel(guided.values.data() + begin, area);
    const std::span<const float> wanted(mimic.values.data() + begin, area);
    const double mean = mean_of(channel), wanted_mean = mean_of(wanted);
    double most = 0;  // of the mimicked values about their mean
    for (float value : wanted) most = std::max(most, std::abs(value - wanted_mean));
    std::transform(channel.begin(), channel.end(), sizes.begin(), [&](float v) { return std::abs(v - mean); });
    std::sort(sizes.begin(), sizes.end());
    const double place = options.threshold_percentile * static_cast<double>(area - 1);
    const auto low = static_cast<size_t>(place);
    const double weight = place - static_cast<double>(low);
    const double quantile = weight == 0 ? sizes[low] : (1 - weight) * sizes[low] + weight * sizes[low + 1];
    const double limit = std::max(most, quantile);
    if (!(limit > 0)) continue;
    for (float& value : channel)
      value = static_cast<float>(std::clamp(value - mean, -limit, limit) / limit * most + mean);
  }
  return rescaled(options, cond, std::move(guided));
}

}  // namespace gesso
