#include "sampling/schedule.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "sampling/names.h"

namespace gesso {
namespace {

/// `steps` values of sigma_at(i), then 0.
template <typename SigmaAt>
std::vector<double> then_zero(int steps, SigmaAt sigma_at) {
  std::vector<double> sigmas;
  for (int i = 0; i < steps; ++i) sigmas.push_back(sigma_at(i));
  sigmas.push_back(0);
  return sigmas;
}

/// How far step i lies between the first (0) and the last (1).
double progress(int i, int steps) {
  return steps > 1 ? static_cast<double>(i) / (steps - 1) : 0;
}

std::vector<double> discrete(const SigmaTable& table, int steps) {
  return then_zero(steps, [&](int i) { return table.sigma(table.max_timestep() * (1 - progress(i, steps))); });
}

std::vector<double> karras(const SigmaTable& table, int steps) {
  constexpr double kRho = 7;
  const double first = std::pow(table.sigma_max(), 1 / kRho);
  const double last = std::pow(table.sigma_min(), 1 / kRho);
  return then_zero(steps, [&](int i) { return std::pow(first + progress(i, steps) * (last - first), kRho); });
}

std::vector<double> simple(const SigmaTable& table, int steps) {
  const double stride = static_cast<double>(table.count()) / steps;
  return then_zero(steps, [&](int i) { return table.sigma(table.max_timestep() - std::floor(i * stride)); });
}

std::vector<double> sgm_uniform(const SigmaTable& table, int steps) {
  return then_zero(steps,
                   [&](int i) { return table.sigma(table.max_timestep() * (1 - static_cast<double>(i) / steps)); });
}

}  // namespace

const std::vector<Schedule>& schedules() {
  static const std::vector<Schedule> rows = {
      {"discrete", {"normal", "uniform"}, "evenly spaced timesteps down to the first", discrete},
      {"karras", {"ka"}, "small steps where there is little noise (Karras et al. 2022)", karras},
      {"simple", {}, "evenly spaced whole timesteps that end before the first", simple},
      {"sgm_uniform", {}, "evenly spaced timesteps that end before the first", sgm_uniform},
  };
  return rows;
}

const Schedule& find_schedule(std::string_view name) {
  return find_row(schedules(), "schedule", name);
}

void check_sigmas(std::span<const double> sigmas) {
  if (sigmas.empty()) fail(ErrorCode::kUsage, "a schedule needs at least one sigma; it has none");
  for (size_t i = 0; i < sigmas.size(); ++i) {
    const bool last = i + 1 == sigmas.size();
    if (!std::isfinite(sigmas[i]) || sigmas[i] < 0 || (sigmas[i] == 0 && !last))
      fail(ErrorCode::kUsage, "sigmas must be above 0 and finite, only the last may be 0; sigma {} of {} is {}", i + 1,
           sigmas.size(), sigmas[i]);
    if (i > 0 && sigmas[i] > sigmas[i - 1])
      fail(ErrorCode::kUsage, "sigmas must not rise; sigma {} of {} is {} after {}", i + 1, sigmas.size(), sigmas[i],
           sigmas[i - 1]);
  }
}

int steps_for_strength(int steps, double strength) {
  if (!(strength >= 0 && strength <= 1))
    fail(ErrorCode::kUsage, "denoising strength must be from 0 to 1; it is {}", strength);
  constexpr double kRounding = 1e-9;  // 0.29 * 100 is 28.999999999999996 and means 29
  return static_cast<int>(std::floor(strength * std::max(steps, 0) + kRounding));
}

std::span<const double> last_steps(std::span<const double> sigmas, int steps) {
  const size_t wanted = static_cast<size_t>(std::max(steps, 0)) + 1;
  return sigmas.last(std::min(wanted, sigmas.size()));
}

std::vector<double> stretch_to_terminal(std::vector<double> sigmas, double terminal) {
  if (sigmas.size() < 2) return sigmas;
  const double reach = 1 - sigmas[sigmas.size() - 2];
  if (!(reach > 0)) return sigmas;
  const double scale = (1 - terminal) / reach;
  for (size_t i = 0; i + 1 < sigmas.size(); ++i) sigmas[i] = 1 - (1 - sigmas[i]) * scale;
  return sigmas;
}

}  // namespace gesso
