#include "sampling/extra_args.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "sampling/names.h"

namespace gesso {
namespace {

double number(std::string_view text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size() || !std::isfinite(value))
    fail(ErrorCode::kUsage, "an extra sampling argument is no number: '{}'", text.substr(0, 40));
  return value;
}

int whole(std::string_view text) {
  const double value = number(text);
  if (value != std::floor(value) || std::abs(value) > 1e6)
    fail(ErrorCode::kUsage, "an extra sampling argument is no whole number: '{}'", text.substr(0, 40));
  return static_cast<int>(value);
}

using Targets = const SamplingTargets&;
using Text = std::string_view;

}  // namespace

const std::vector<ExtraArg>& extra_args() {
  // clang-format off
  static const std::vector<ExtraArg> rows = {
      {"s_noise", {}, "multiplies the noise that is added", {}, [](Targets t, Text v) { t.sampler.s_noise = number(v); }},
      {"s_churn", {}, "noise added before steps", {"euler", "heun", "dpm2"}, [](Targets t, Text v) { t.sampler.s_churn = number(v); }},
      {"s_tmin", {}, "s_churn: the lowest sigma", {"euler", "heun", "dpm2"}, [](Targets t, Text v) { t.sampler.s_tmin = number(v); }},
      {"s_tmax", {}, "s_churn: the highest sigma", {"euler", "heun", "dpm2"}, [](Targets t, Text v) { t.sampler.s_tmax = number(v); }},
      {"order", {"lms_max_order", "max_order", "solver_order"}, "the highest order of a multistep sampler",
       {"lms", "ipndm", "ipndm_v", "deis", "plms", "uni_pc", "uni_pc_bh2", "dpm_adaptive"}, [](Targets t, Text v) { t.sampler.order = whole(v); }},
      {"gamma", {"ge_gamma"}, "how far the slope is extended", {"euler_ge"}, [](Targets t, Text v) { t.sampler.gamma = number(v); }},
      {"noise_clip_std", {}, "deviations at which noise is cut off", {"lcm"}, [](Targets t, Text v) { t.sampler.noise_clip_std = number(v); }},
      {"noise_scale_start", {}, "multiplies the noise of the first step", {"lcm"}, [](Targets t, Text v) { t.sampler.noise_scale_start = number(v); }},
      {"noise_scale_end", {}, "multiplies the noise of the last step", {"lcm"}, [](Targets t, Text v) { t.sampler.noise_scale_end = number(v); }},
      {"rho", {}, "the curve's power", {"karras", "polyexponential"}, [](Targets t, Text v) { t.schedule.rho = number(v); }},
      {"alpha", {}, "first parameter of the distribution", {"beta"}, [](Targets t, Text v) { t.schedule.alpha = number(v); }},
      {"beta", {}, "second parameter of the distribution", {"beta"}, [](Targets t, Text v) { t.schedule.beta = number(v); }},
      {"base_shift", {}, "mu at 256 tokens", {"flux"}, [](Targets t, Text v) { t.schedule.base_shift = number(v); }},
      {"max_shift", {}, "mu at 4096 tokens", {"flux"}, [](Targets t, Text v) { t.schedule.max_shift = number(v); }},
      {"mu", {}, "mean of the logit", {"logit_normal"}, [](Targets t, Text v) { t.schedule.mu = number(v); }},
      {"std", {}, "deviation of the logit", {"logit_normal"}, [](Targets t, Text v) { t.schedule.std = number(v); }},
      {"logsnr_min", {}, "where the logit is cut off", {"logit_normal"}, [](Targets t, Text v) { t.schedule.logsnr_min = number(v); }},
      {"logsnr_max", {}, "where the logit is cut off", {"logit_normal"}, [](Targets t, Text v) { t.schedule.logsnr_max = number(v); }},
      {"guidance_schedule", {}, "a CFG scale for each step, such as 7x10+1x10", {}, [](Targets t, Text v) { t.guidance.schedule = parse_guidance_schedule(v); }},
      {"apg_eta", {}, "what is kept of the part along the prompt's estimate", {"apg"}, [](Targets t, Text v) { t.guidance.apg_eta = number(v); }},
      {"apg_momentum", {}, "share of the direction before", {"apg"}, [](Targets t, Text v) { t.guidance.apg_momentum = number(v); }},
      {"apg_norm_threshold", {}, "the direction's largest size", {"apg"}, [](Targets t, Text v) { t.guidance.apg_norm_threshold = number(v); }},
      {"apg_norm_threshold_smoothing", {}, "softens the threshold", {"apg"}, [](Targets t, Text v) { t.guidance.apg_norm_threshold_smoothing = number(v); }},
      {"neg_scale", {"negative_scale"}, "strength of the negative prompt", {"perp_neg"}, [](Targets t, Text v) { t.guidance.negative_scale = number(v); }},
      {"mimic_scale", {}, "CFG scale whose range of values is kept", {"dynamic_thresholding"}, [](Targets t, Text v) { t.guidance.mimic_scale = number(v); }},
      {"threshold_percentile", {}, "share of the values within the range", {"dynamic_thresholding"}, [](Targets t, Text v) { t.guidance.threshold_percentile = number(v); }},
  };
  // clang-format on
  return rows;
}

std::vector<GivenArg> parse_extra_args(std::string_view text) {
  std::vector<GivenArg> given;
  const auto trimmed = [](std::string_view part) {
    const size_t first = part.find_first_not_of(" \t");
    if (first == part.npos) return std::string_view();
    return part.substr(first, part.find_last_not_of(" \t") - first + 1);
  };
  while (!trimmed(text).empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t equals = part.find('=');
    if (equals == part.npos)
      fail(ErrorCode::kUsage, "extra sampling arguments are name=value apart by commas, such as order=3; one is not");
    const ExtraArg& arg = find_row(extra_args(), "extra sampling argument", trimmed(part.substr(0, equals)));
    for (const GivenArg& before : given)
      if (before.arg == &arg) fail(ErrorCode::kUsage, "the extra sampling argument {} is given twice", arg.name);
    given.push_back({&arg, trimmed(part.substr(equals + 1))});
  }
  return given;
}

void apply_extra_args(std::string_view text, std::string_view sampler, std::string_view schedule,
                      std::string_view guidance, const SamplingTargets& targets) {
  for (const GivenArg& given : parse_extra_args(text)) {
    const std::vector<std::string_view>& users = given.arg->users;
    const auto used_by = [&](std::string_view name) {
      return std::find(users.begin(), users.end(), name) != users.end();
    };
    if (!users.empty() && !used_by(sampler) && !used_by(schedule) && !used_by(guidance))
      fail(ErrorCode::kUsage, "the extra sampling argument {} has no meaning for {}, {} and {}; it is for {}",
           given.arg->name, sampler, schedule, guidance, fmt::join(users, ", "));
    given.arg->set(targets, given.value);
  }
}

}  // namespace gesso
