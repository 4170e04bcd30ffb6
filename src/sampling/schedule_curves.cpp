#include <algorithm>
#include <cmath>
#include <numbers>

#include "sampling/schedule_functions.h"

namespace gesso {

std::vector<double> schedule_karras(const SigmaTable& table, int steps, const ScheduleOptions& options) {
  const double rho = options.rho > 0 ? options.rho : 7;
  const double first = std::pow(table.sigma_max(), 1 / rho), last = std::pow(table.sigma_min(), 1 / rho);
  return then_zero(steps, [&](int i) { return std::pow(first + progress(i, steps) * (last - first), rho); });
}

std::vector<double> schedule_exponential(const SigmaTable& table, int steps, const ScheduleOptions&) {
  return schedule_polyexponential(table, steps, {.rho = 1});
}

std::vector<double> schedule_polyexponential(const SigmaTable& table, int steps, const ScheduleOptions& options) {
  const double rho = options.rho > 0 ? options.rho : 1;
  const double first = std::log(table.sigma_max()), last = std::log(table.sigma_min());
  return then_zero(steps,
                   [&](int i) { return std::exp(last + std::pow(1 - progress(i, steps), rho) * (first - last)); });
}

std::vector<double> schedule_kl_optimal(const SigmaTable& table, int steps, const ScheduleOptions&) {
  const double first = std::atan(table.sigma_max()), last = std::atan(table.sigma_min());
  return then_zero(steps, [&](int i) { return std::tan(first + progress(i, steps) * (last - first)); });
}

namespace {

/// `count` sigmas from `start` to `end` along an arctan that is steepest at index `pivot`.
void append_arctan(std::vector<double>& sigmas, int count, double slope, int pivot, double start, double end) {
  const auto curve = [&](int i) { return std::atan(-slope * (i - pivot)) / std::numbers::pi + 0.5; };
  const double high = curve(0), low = curve(count - 1);
  for (int i = 0; i < count; ++i)
    sigmas.push_back(high > low ? (curve(i) - low) / (high - low) * (start - end) + end : start);
}

}  // namespace

std::vector<double> schedule_bong_tangent(const SigmaTable& table, int steps, const ScheduleOptions&) {
  if (steps == 1) return {table.sigma_max(), 0};
  constexpr double kPivot = 0.6, kSlope = 0.2, kSlopeSteps = 40;
  const int count = steps + 2, first = static_cast<int>(count * kPivot);
  const double slope = kSlope * kSlopeSteps / count;
  const double middle = (table.sigma_min() + table.sigma_max()) / 2;
  std::vector<double> sigmas;
  append_arctan(sigmas, first, slope, first, table.sigma_max(), middle);
  sigmas.pop_back();  // the second curve starts with it
  append_arctan(sigmas, count - first, slope, 0, middle, table.sigma_min());
  sigmas.back() = 0;
  return sigmas;
}

std::vector<double> schedule_linear_quadratic(const SigmaTable& table, int steps, const ScheduleOptions&) {
  if (steps == 1) return {table.sigma_max(), 0};
  // noise(i), the share that is gone at step i, rises by a line of this slope, then by the parabola that continues the
  // line with its slope and ends at 1.
  constexpr double kThreshold = 0.025;
  const int lines = steps / 2, rest = steps - lines;
  const double slope = kThreshold / lines;
  const double bend = (1 - kThreshold - slope * rest) / (static_cast<double>(rest) * rest);
  return then_zero(steps, [&](int i) {
    const double beyond = std::max(i - lines, 0);
    return table.sigma_max() * (1 - slope * i - bend * beyond * beyond);
  });
}

}  // namespace gesso
