#include "sampling/guidance.h"

#include <cmath>

#include "base/error.h"
#include "sampling/names.h"

namespace gesso {
namespace {

double standard_deviation(const Latent& x) {
  const auto count = static_cast<double>(x.size());
  double sum = 0, squares = 0;
  for (float value : x.values) sum += value;
  const double mean = sum / count;
  for (float value : x.values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / count);
}

std::vector<Branch> cfg_branches(const GuidanceOptions& options) {
  if (options.scale == 1) return {Branch::kCond};
  return {Branch::kCond, Branch::kUncond};
}

Latent cfg_combine(const GuidanceOptions& options, const GuidanceStep& step) {
  const Latent& cond = step.outputs[0];
  if (options.scale == 1) return cond;
  Latent guided = weighted_sum(options.scale, cond, 1 - options.scale, step.outputs[1]);
  if (options.rescale == 0) return guided;
  const double deviation = standard_deviation(guided);
  if (!(deviation > 0)) return guided;
  const double factor = standard_deviation(cond) / deviation;
  return scaled(options.rescale * factor + 1 - options.rescale, std::move(guided));
}

}  // namespace

const std::vector<Guidance>& guidances() {
  static const std::vector<Guidance> rows = {
      {"cfg",
       {"classifier_free"},
       "classifier-free guidance, away from the negative prompt",
       cfg_branches,
       cfg_combine},
  };
  return rows;
}

const Guidance& find_guidance(std::string_view name) {
  return find_row(guidances(), "guidance", name);
}

void check_guidance(const GuidanceOptions& options) {
  if (!std::isfinite(options.scale))
    fail(ErrorCode::kUsage, "CFG scale must be a finite number; it is {}", options.scale);
  if (!(options.rescale >= 0 && options.rescale <= 1))
    fail(ErrorCode::kUsage, "CFG rescale must be from 0 to 1; it is {}", options.rescale);
}

}  // namespace gesso
