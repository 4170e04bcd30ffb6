#include <algorithm>
#include <cmath>

#include "sampling/schedule_functions.h"

namespace gesso {

std::vector<double> schedule_discrete(const SigmaTable& table, int steps, const ScheduleOptions&) {
  return then_zero(steps, [&](int i) { return table.sigma(table.max_timestep() * (1 - progress(i, steps))); });
}

std::vector<double> schedule_simple(const SigmaTable& table, int steps, const ScheduleOptions&) {
  const double stride = static_cast<double>(table.count()) / steps;
  return then_zero(steps, [&](int i) { return table.sigma(table.max_timestep() - std::floor(i * stride)); });
}

std::vector<double> schedule_sgm_uniform(const SigmaTable& table, int steps, const ScheduleOptions&) {
  return then_zero(steps,
                   [&](int i) { return table.sigma(table.max_timestep() * (1 - static_cast<double>(i) / steps)); });
}

std::vector<double> schedule_ddim_uniform(const SigmaTable& table, int steps, const ScheduleOptions&) {
  const int stride = std::max(table.count() / steps, 1);
  const int taken = (table.count() - 2) / stride + 1;  // of the timesteps 1, 1 + stride, ...
  return then_zero(taken, [&](int i) { return table.sigma(1 + (taken - 1 - i) * stride); });
}

std::vector<double> schedule_smoothstep(const SigmaTable& table, int steps, const ScheduleOptions&) {
  return then_zero(steps, [&](int i) {
    const double u = 1 - static_cast<double>(i) / steps;
    return table.sigma(std::round(u * u * (3 - 2 * u) * table.max_timestep()));
  });
}

std::vector<double> schedule_beta(const SigmaTable& table, int steps, const ScheduleOptions& options) {
  // Only the nearest whole timestep counts, so the distribution is asked for the borders between them instead of
  // inverted: timestep t is the nearest to the quantiles from border[t - 1] to border[t].
  const double last = table.max_timestep();
  std::vector<double> borders;
  for (int t = 0; t < table.count() - 1; ++t)
    borders.push_back(beta_cdf((t + 0.5) / last, options.alpha, options.beta));
  std::vector<double> sigmas;
  auto before = borders.end() - borders.begin() + 1;
  for (int i = 0; i < steps; ++i) {
    const double u = 1 - static_cast<double>(i) / steps;
    const auto t = std::lower_bound(borders.begin(), borders.end(), u) - borders.begin();
    if (t != before) sigmas.push_back(table.sigma(static_cast<double>(t)));
    before = t;
  }
  sigmas.push_back(0);
  return sigmas;
}

std::vector<double> schedule_lcm(const SigmaTable& table, int steps, const ScheduleOptions&) {
  constexpr int kDistilled = 50;
  const int stride = std::max(table.count() / kDistilled, 1);
  return then_zero(steps, [&](int i) {
    const auto index = static_cast<int>(static_cast<int64_t>(i) * kDistilled / steps);
    return table.sigma((kDistilled - index) * stride - 1);
  });
}

double beta_cdf(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - beta_cdf(1 - x, b, a);
  // DLMF 8.17.22: 1 / (1 + d_1 / (1 + d_2 / ...)), evaluated by Lentz's method.
  const auto term = [&](int k) {
    const double m = k / 2;
    if (k % 2 == 0) return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
  };
  const auto nonzero = [](double value) { return std::abs(value) < 1e-300 ? 1e-300 : value; };
  constexpr int kTerms = 500;
  double d = 1 / nonzero(1 + term(1)), c = 1, fraction = d;
  for (int k = 2; k < kTerms; ++k) {
    d = 1 / nonzero(1 + term(k) * d);
    c = nonzero(1 + term(k) / c);
    fraction *= c * d;
    if (std::abs(c * d - 1) < 1e-15) break;
  }
  const double log_front = a * std::log(x) + b * std::log1p(-x) + std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b);
  return std::exp(log_front) / a * fraction;
}

}  // namespace gesso
