#pragma once
#include "sampling/schedule.h"

namespace gesso {

// The functions of the table of schedules, by the file they are in. All are called with steps >= 1 and checked options.

// schedule_timesteps.cpp: timesteps of the table
std::vector<double> schedule_discrete(const SigmaTable& table, int steps, const ScheduleOptions& options);
std::vector<double> schedule_simple(const SigmaTable& table, int steps, const ScheduleOptions& options);
std::vector<double> schedule_sgm_uniform(const SigmaTable& table, int steps, const ScheduleOptions& options);
std::vector<double> schedule_ddim_uniform(const SigmaTable& table, int steps, const ScheduleOptions& options);
std::vector<double> schedule_smoothstep(const SigmaTable& table, int steps, const ScheduleOptions& options);
std::vector<double> schedule_beta(const SigmaTable& table, int steps, const ScheduleOptions& options);
std::vector<double> schedule_lcm(const SigmaTable& table, int steps, const ScheduleOptions& options);

// schedule_curves.cpp: curves over the table's range
std::vector<double> schedule_karras(const SigmaTable& table, int steps, const ScheduleOptions& options);
std::vector<double> schedule_exponential(const SigmaTable& table, int steps, const ScheduleOptions& options);
std::vector<double> schedule_polyexponential(const SigmaTable& table, int steps, const ScheduleOptions& options);
std::vector<double> schedule_kl_optimal(const SigmaTable& table, int steps, const ScheduleOptions& options);
std::vector<double> schedule_bong_tangent(const SigmaTable& table, int steps, const ScheduleOptions& options);
std::vector<double> schedule_linear_quadratic(const SigmaTable& table, int steps, const ScheduleOptions& options);

// schedule_levels.cpp: published levels
std::vector<double> schedule_ays(const SigmaTable& table, int steps, const ScheduleOptions& options);
std::vector<double> schedule_gits(const SigmaTable& table, int steps, const ScheduleOptions& options);

// schedule_flow.cpp: for flow models, whatever the table
std::vector<double> schedule_logit_normal(const SigmaTable& table, int steps, const ScheduleOptions& options);
std::vector<double> schedule_token_shift(const SigmaTable& table, int steps, const ScheduleOptions& options);
std::vector<double> schedule_token_step_shift(const SigmaTable& table, int steps, const ScheduleOptions& options);

/// `steps` values of sigma_at(i), then 0.
template <typename SigmaAt>
std::vector<double> then_zero(int steps, SigmaAt sigma_at) {
  std::vector<double> sigmas;
  for (int i = 0; i < steps; ++i) sigmas.push_back(sigma_at(i));
  sigmas.push_back(0);
  return sigmas;
}

/// How far step i lies between the first (0) and the last (1).
inline double progress(int i, int steps) {
  return steps > 1 ? static_cast<double>(i) / (steps - 1) : 0;
}

/// The Beta(a, b) distribution up to x: the regularised incomplete beta function. a and b above 0, x in [0, 1].
double beta_cdf(double x, double a, double b);

/// The z up to which the standard normal distribution holds p, for p in (0, 1).
double normal_quantile(double p);

}  // namespace gesso
