#include <algorithm>
#include <cmath>
#include <numbers>

#include "sampling/flow_shift.h"
#include "sampling/schedule_functions.h"

namespace gesso {
namespace {

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

std::vector<double> shifted_times(int steps, double mu) {
  return then_zero(steps, [&](int i) { return shifted(shift_of_mu(mu), 1 - static_cast<double>(i) / steps); });
}

}  // namespace

std::vector<double> schedule_logit_normal(const SigmaTable&, int steps, const ScheduleOptions& options) {
  const double mu = options.mu + 0.5 * std::log(options.tokens / 1024.0);
  const double most = sigmoid(options.logsnr_max / 2), least = sigmoid(options.logsnr_min / 2);
  return then_zero(steps, [&](int i) {
    if (i == 0) return most;  // the quantile of 1 is infinite
    const double z = normal_quantile(1 - static_cast<double>(i) / steps);
    return std::clamp(sigmoid(mu + options.std * z), least, most);
  });
}

std::vector<double> schedule_token_shift(const SigmaTable&, int steps, const ScheduleOptions& options) {
  return shifted_times(steps, mu_for_tokens(options.tokens, options.base_shift, options.max_shift));
}

std::vector<double> schedule_token_step_shift(const SigmaTable&, int steps, const ScheduleOptions& options) {
  return shifted_times(steps, mu_for_tokens_and_steps(options.tokens, steps));
}

double normal_quantile(double p) {
  // Bisection: the quantiles of a schedule lie within a few deviations, and there are few of them.
  double low = -40, high = 40;
  for (int i = 0; i < 80; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::numbers::sqrt2) / 2 < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace gesso
