#include "sampling/samplers.h"

#include <cmath>

#include "base/error.h"
#include "sampling/names.h"

namespace gesso {
namespace {

void check_context(const SamplerContext& context) {
  check_sigmas(context.sigmas);
  if (!std::isfinite(context.eta) || context.eta < 0)
    fail(ErrorCode::kUsage, "eta must be 0 or more; it is {}", context.eta);
  if (!std::isfinite(context.s_noise) || context.s_noise < 0)
    fail(ErrorCode::kUsage, "s_noise must be 0 or more; it is {}", context.s_noise);
}

}  // namespace

const std::vector<Sampler>& samplers() {
  static const std::vector<Sampler> rows = {
      {"euler", {"k_euler", "EulerDiscreteScheduler"}, "Euler's method; the plainest", 1, false, sample_euler},
      {"euler_a",
       {"euler_ancestral", "k_euler_a", "k_euler_ancestral", "EulerAncestralDiscreteScheduler"},
       "Euler's method with fresh noise in every step",
       1,
       true,
       sample_euler_ancestral},
      {"heun",
       {"k_heun", "HeunDiscreteScheduler"},
       "Heun's second-order method; twice the work",
       2,
       false,
       sample_heun},
      {"dpm++2m",
       {"k_dpmpp_2m", "DPMSolverMultistepScheduler"},
       "second-order multistep DPM-Solver++; few steps do",
       1,
       false,
       sample_dpmpp_2m},
  };
  return rows;
}

SamplerChoice find_sampler(std::string_view name) {
  const std::string folded = folded_name(name);
  for (const Sampler& sampler : samplers()) {
    std::vector<std::string_view> called = sampler.aliases;
    called.push_back(sampler.name);
    for (std::string_view candidate : called) {
      const std::string prefix = folded_name(candidate);
      if (!folded.starts_with(prefix)) continue;
      const std::string rest = folded.substr(prefix.size());
      if (rest.empty()) return {&sampler, nullptr};
      if (const Schedule* schedule = match_row(schedules(), rest)) return {&sampler, schedule};
    }
  }
  fail_unknown_name("sampler", name, names_of(samplers()));
}

int evaluations(const Sampler& sampler, std::span<const double> sigmas) {
  int count = 0;
  for (size_t i = 1; i < sigmas.size(); ++i) count += sigmas[i] == 0 ? 1 : sampler.evaluations_per_step;
  return count;
}

Latent sample(const Sampler& sampler, const Denoise& denoise, Latent x, const SamplerContext& context) {
  check_context(context);
  const Denoise checked = [&denoise](const Latent& latent, double sigma) {
    Latent denoised = denoise(latent, sigma);
    if (!denoised.same_shape(latent)) fail(ErrorCode::kInternal, "the model changed the shape of the latent");
    if (!all_finite(denoised))
      fail(ErrorCode::kNumeric, "the model's estimate at sigma {:.4g} has NaN or infinity; try a higher precision",
           sigma);
    return denoised;
  };
  return sampler.function(checked, std::move(x), context);
}

Latent euler_step(const Latent& x, const Latent& denoised, double sigma, double next) {
  return weighted_sum(next / sigma, x, 1 - next / sigma, denoised);
}

}  // namespace gesso
