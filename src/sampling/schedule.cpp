#include "sampling/schedule.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "sampling/names.h"
#include "sampling/schedule_functions.h"

namespace gesso {
namespace {

void check_options(const ScheduleOptions& o) {
  const auto check = [](bool good, std::string_view name, double value, std::string_view wanted) {
    if (!good || !std::isfinite(value)) fail(ErrorCode::kUsage, "{} must be {}; it is {}", name, wanted, value);
  };
  check(o.rho >= 0, "rho", o.rho, "0 or more");
  check(o.alpha > 0, "alpha", o.alpha, "above 0");
  check(o.beta > 0, "beta", o.beta, "above 0");
  check(o.tokens > 0, "tokens", o.tokens, "above 0");
  check(std::abs(o.base_shift) <= 20, "base_shift", o.base_shift, "from -20 to 20");
  check(std::abs(o.max_shift) <= 20, "max_shift", o.max_shift, "from -20 to 20");
  check(std::abs(o.mu) <= 100, "mu", o.mu, "from -100 to 100");
  check(o.std > 0, "std", o.std, "above 0");
  check(o.logsnr_min < o.logsnr_max, "logsnr_min", o.logsnr_min, "below logsnr_max");
  check(std::abs(o.logsnr_max) <= 60 && std::abs(o.logsnr_min) <= 60, "logsnr_max", o.logsnr_max, "from -60 to 60");
  if (o.ays.size() == 1) fail(ErrorCode::kUsage, "ays levels must be at least two");
  if (!o.ays.empty()) {
    check_sigmas(o.ays);
    check(o.ays.back() > 0, "the last ays level", o.ays.back(), "above 0");
  }
}

}  // namespace

std::vector<double> Schedule::sigmas(const SigmaTable& table, int steps, const ScheduleOptions& options) const {
  if (models == ScheduleFor::kFlow && !table.is_flow())
    fail(ErrorCode::kUsage, "the schedule {} is for flow models, and this model is none; use karras or discrete", name);
  if (models == ScheduleFor::kDiffusion && table.is_flow())
    fail(ErrorCode::kUsage,
         "the schedule {} has the sigmas of models that are no flow models, and this one is; use "
         "simple or discrete",
         name);
  check_options(options);
  if (steps < 1) return {0};
  return function(table, steps, options);
}

const std::vector<Schedule>& schedules() {
  constexpr ScheduleFor kAny = ScheduleFor::kEvery, kDiffusion = ScheduleFor::kDiffusion, kFlow = ScheduleFor::kFlow;
  static const std::vector<Schedule> rows = {
      {"discrete", {"normal", "uniform"}, "evenly spaced timesteps down to the first", kAny, schedule_discrete},
      {"karras", {"ka"}, "small steps where there is little noise (Karras et al. 2022)", kAny, schedule_karras},
      {"exponential", {"exp"}, "equal steps of the logarithm", kAny, schedule_exponential},
      {"polyexponential",
       {"poly_exponential"},
       "a power of equal steps of the logarithm",
       kAny,
       schedule_polyexponential},
      {"ays",
       {"align_your_steps", "ays_30"},
       "levels optimised for few steps (Sabour et al. 2024)",
       kDiffusion,
       schedule_ays},
      {"gits", {}, "levels from the curvature of trajectories (Chen et al. 2024)", kDiffusion, schedule_gits},
      {"simple", {"trailing"}, "evenly spaced whole timesteps that end before the first", kAny, schedule_simple},
      {"sgm_uniform", {}, "evenly spaced timesteps that end before the first", kAny, schedule_sgm_uniform},
      {"ddim_uniform",
       {"ddim", "leading"},
       "evenly spaced whole timesteps up from the first",
       kAny,
       schedule_ddim_uniform},
      {"smoothstep", {}, "more timesteps at both ends", kAny, schedule_smoothstep},
      {"beta", {}, "more timesteps at both ends (Lee et al. 2024)", kAny, schedule_beta},
      {"kl_optimal", {}, "equal steps of arctan (Sabour et al. 2024)", kAny, schedule_kl_optimal},
      {"lcm", {}, "timesteps that latent consistency models are distilled on", kAny, schedule_lcm},
      {"bong_tangent", {}, "two arctan curves", kAny, schedule_bong_tangent},
      {"linear_quadratic", {}, "many steps at much noise, then a parabola", kAny, schedule_linear_quadratic},
      {"logit_normal", {}, "quantiles of a logit-normal distribution", kFlow, schedule_logit_normal},
      {"flux", {}, "even times shifted by the number of tokens", kFlow, schedule_token_shift},
      {"flux2", {}, "even times shifted by the numbers of tokens and steps", kFlow, schedule_token_step_shift},
  };
  return rows;
}

const Schedule& find_schedule(std::string_view name) {
  return find_row(schedules(), "schedule", name);
}

std::vector<double> parse_sigmas(std::string_view text) {
  constexpr size_t kMost = 10'001;
  constexpr std::string_view kBetween = ", \t\r\n[]";
  std::vector<double> sigmas;
  const char* const end = text.data() + text.size();
  for (size_t at = text.find_first_not_of(kBetween); at != text.npos; at = text.find_first_not_of(kBetween, at)) {
    double sigma = 0;
    const auto [rest, error] = std::from_chars(text.data() + at, end, sigma);
    if (error != std::errc() || (rest != end && kBetween.find(*rest) == kBetween.npos))
      fail(ErrorCode::kUsage, "sigmas are numbers apart by commas, such as \"14.6, 7, 3, 0\"; number {} is none",
           sigmas.size() + 1);
    if (sigmas.size() == kMost) fail(ErrorCode::kUsage, "sigmas: there may be {} at most", kMost);
    sigmas.push_back(sigma);
    at = static_cast<size_t>(rest - text.data());
  }
  if (sigmas.size() < 2) fail(ErrorCode::kUsage, "sigmas: wanted two or more numbers, found {}", sigmas.size());
  check_sigmas(sigmas);
  return sigmas;
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
