#include "sampling/samplers.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "sampling/brownian_tree.h"
#include "sampling/names.h"
#include "sampling/sampler_steps.h"

namespace gesso {
namespace {

void check_context(const SamplerContext& context) {
  check_sigmas(context.sigmas);
  const auto not_negative = [](std::string_view name, double value) {
    if (!std::isfinite(value) || value < 0) fail(ErrorCode::kUsage, "{} must be 0 or more; it is {}", name, value);
  };
  not_negative("eta", context.options.eta.value_or(0));
  not_negative("s_noise", context.options.s_noise);
  not_negative("s_churn", context.options.s_churn);
  not_negative("s_tmin", context.options.s_tmin);
  not_negative("s_tmax", context.options.s_tmax);
  not_negative("gamma", context.options.gamma);
  not_negative("noise_clip_std", context.options.noise_clip_std);
  not_negative("noise_scale_start", context.options.noise_scale_start);
  not_negative("noise_scale_end", context.options.noise_scale_end.value_or(0));
  if (context.options.order < 0 || context.options.order > 4)
    fail(ErrorCode::kUsage, "order must be from 1 to 4, or 0 for the sampler's own; it is {}", context.options.order);
  if (context.flow && context.sigmas.front() > 1)
    fail(ErrorCode::kUsage, "sigmas of a flow model are 1 at most; the first is {}", context.sigmas.front());
  if (context.flow && context.options.s_churn > 0)
    fail(ErrorCode::kUsage, "s_churn is not for flow models, and this is one; leave it out");
}

/// The sigmas without those that equal the one before.
std::vector<double> distinct(std::span<const double> sigmas) {
  std::vector<double> kept(sigmas.begin(), sigmas.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

}  // namespace

const std::vector<Sampler>& samplers() {
  // clang-format off
  static const std::vector<Sampler> rows = {
      {.name = "euler", .aliases = {"k_euler", "sample_euler", "EulerDiscreteScheduler", "FlowMatchEulerDiscreteScheduler"},
       .description = "Euler's method; the plainest", .function = sample_euler},
      {.name = "euler_a", .aliases = {"euler_ancestral", "k_euler_a", "k_euler_ancestral", "EulerAncestralDiscreteScheduler"},
       .description = "Euler's method with fresh noise in every step", .function = sample_euler_ancestral, .eta = 1,
       .takes_eta = true},
      {.name = "heun", .aliases = {"k_heun", "HeunDiscreteScheduler", "FlowMatchHeunDiscreteScheduler"},
       .description = "Heun's second-order method; twice the work", .function = sample_heun, .evaluations_per_step = 2},
      {.name = "dpm2", .aliases = {"dpm_2", "k_dpm_2", "k_dpm2", "KDPM2DiscreteScheduler"},
       .description = "DPM-Solver-2's midpoint; twice the work", .function = sample_dpm_2, .evaluations_per_step = 2},
      {.name = "dpm2_a", .aliases = {"dpm_2_a", "dpm_2_ancestral", "dpm2_ancestral", "k_dpm_2_a", "k_dpm_2_ancestral", "KDPM2AncestralDiscreteScheduler"},
       .description = "the same with fresh noise", .function = sample_dpm_2_ancestral, .evaluations_per_step = 2,
       .eta = 1, .takes_eta = true},
      {.name = "dpm++2s_a", .aliases = {"dpmpp_2s_ancestral", "k_dpmpp_2s_a", "k_dpmpp_2s_ancestral"},
       .description = "second-order DPM-Solver++ with fresh noise; twice the work", .function = sample_dpmpp_2s_ancestral,
       .evaluations_per_step = 2, .eta = 1, .takes_eta = true},
      {.name = "dpm++2m", .aliases = {"k_dpmpp_2m", "DPMSolverMultistepScheduler"},
       .description = "second-order multistep DPM-Solver++; few steps do", .function = sample_dpmpp_2m},
      {.name = "dpm++2mv2", .aliases = {"dpmpp_2m_v2"}, .description = "the same, changed for fewer steps",
       .function = sample_dpmpp_2m_v2},
      {.name = "dpm++2m_sde", .aliases = {"k_dpmpp_2m_sde", "dpmpp_2m_sde_gpu"},
       .description = "multistep DPM-Solver++ of the stochastic equation", .function = sample_dpmpp_2m_sde, .eta = 1,
       .takes_eta = true},
      {.name = "dpm++2m_sde_bt", .aliases = {"dpmpp_2m_sde_brownian_tree"},
       .description = "the same with noise that does not depend on the number of steps", .function = sample_dpmpp_2m_sde,
       .eta = 1, .takes_eta = true, .brownian = true},
      {.name = "dpm++3m_sde", .aliases = {"k_dpmpp_3m_sde", "dpmpp_3m_sde_gpu"}, .description = "third order; for many steps",
       .function = sample_dpmpp_3m_sde, .eta = 1, .takes_eta = true},
      {.name = "dpm++sde", .aliases = {"k_dpmpp_sde", "dpmpp_sde_gpu", "DPMSolverSDEScheduler"},
       .description = "DPM-Solver++ of the stochastic equation in single steps; twice the work",
       .function = sample_dpmpp_sde, .evaluations_per_step = 2, .eta = 1, .takes_eta = true},
      {.name = "dpm_fast", .aliases = {"k_dpm_fast"},
       .description = "DPM-Solver of order 3 with as many evaluations as steps", .function = sample_dpm_fast,
       .takes_eta = true},
      {.name = "dpm_adaptive", .aliases = {"k_dpm_adaptive", "k_dpm_ad"},
       .description = "DPM-Solver that chooses its steps itself; only the ends of the schedule count",
       .function = sample_dpm_adaptive, .evaluations_per_step = 3, .takes_eta = true, .adaptive = true},
      {.name = "ipndm", .aliases = {"IPNDMScheduler"}, .description = "fourth-order multistep", .function = sample_ipndm},
      {.name = "ipndm_v", .aliases = {}, .description = "the same with weights for unequal steps",
       .function = sample_ipndm_v},
      {.name = "deis", .aliases = {"DEISMultistepScheduler"}, .description = "exponential integrator, third-order multistep",
       .function = sample_deis},
      {.name = "lms", .aliases = {"k_lms", "LMSDiscreteScheduler"}, .description = "linear multistep, fourth order",
       .function = sample_lms},
      {.name = "lcm", .aliases = {"LCMScheduler"}, .description = "for latent consistency models; 2 to 8 steps",
       .function = sample_lcm, .eta = 1, .schedule = "lcm"},
      {.name = "ddim", .aliases = {"k_ddim", "DDIMScheduler"}, .description = "Euler's method; eta adds noise as DDPM does",
       .function = sample_euler_ancestral, .takes_eta = true},
      {.name = "ddim_trailing", .aliases = {}, .description = "the same, on timesteps from the last one down",
       .function = sample_euler_ancestral, .takes_eta = true, .schedule = "simple"},
      {.name = "plms", .aliases = {"k_plms", "pndm", "PNDMScheduler"}, .description = "pseudo linear multistep, fourth order",
       .function = sample_plms, .extra_evaluations = 1},
      {.name = "ddpm", .aliases = {"DDPMScheduler"}, .description = "the stochastic sampler of the first paper; many steps",
       .function = sample_euler_ancestral, .eta = 1, .takes_eta = true},
      {.name = "uni_pc", .aliases = {"unipc", "uni_pc_bh1", "UniPCMultistepScheduler"},
       .description = "predictor and corrector, third order; few steps do", .function = sample_uni_pc_bh1},
      {.name = "uni_pc_bh2", .aliases = {"unipc_bh2"}, .description = "the same with B(h) = exp(h) - 1",
       .function = sample_uni_pc_bh2},
      {.name = "tcd", .aliases = {"TCDScheduler"}, .description = "for trajectory consistency models; eta is their gamma",
       .function = sample_tcd, .takes_eta = true, .schedule = "lcm"},
      {.name = "res_multistep", .aliases = {"res_2m"}, .description = "second-order multistep exponential integrator",
       .function = sample_res_multistep, .takes_eta = true},
      {.name = "res_2s", .aliases = {}, .description = "the same in single steps; twice the work",
       .function = sample_res_2s, .evaluations_per_step = 2, .takes_eta = true},
      {.name = "er_sde", .aliases = {}, .description = "extended reverse-time stochastic equation, third order",
       .function = sample_er_sde, .eta = 1, .takes_eta = true},
      {.name = "euler_cfg_pp", .aliases = {"euler_cfg++"},
       .description = "Euler's method for CFG++, with a CFG scale of about 1", .function = sample_euler_cfg_pp,
       .takes_eta = true, .needs_uncond = true},
      {.name = "euler_a_cfg_pp", .aliases = {"euler_ancestral_cfg_pp", "euler_a_cfg++"},
       .description = "the same with fresh noise", .function = sample_euler_cfg_pp, .eta = 1, .takes_eta = true,
       .needs_uncond = true},
      {.name = "euler_ge", .aliases = {"gradient_estimation"}, .description = "Euler's method with the slope extended",
       .function = sample_gradient_estimation},
  };
  // clang-format on
  return rows;
}

SamplerChoice find_sampler(std::string_view name) {
  if (const Sampler* sampler = match_row(samplers(), name)) return {sampler, nullptr};
  const std::string folded = folded_name(name);
  for (const Sampler& sampler : samplers()) {
    std::vector<std::string_view> called = sampler.aliases;
    called.push_back(sampler.name);
    for (std::string_view candidate : called) {
      const std::string prefix = folded_name(candidate);
      if (!folded.starts_with(prefix)) continue;
      if (const Schedule* schedule = match_row(schedules(), folded.substr(prefix.size()))) return {&sampler, schedule};
    }
  }
  fail_unknown_name("sampler", name, names_of(samplers()));
}

int evaluations(const Sampler& sampler, std::span<const double> sigmas) {
  const std::vector<double> steps = distinct(sigmas);
  int count = steps.size() > 1 && steps[1] > 0 ? sampler.extra_evaluations : 0;
  for (size_t i = 1; i < steps.size(); ++i) count += steps[i] == 0 ? 1 : sampler.evaluations_per_step;
  return count;
}

Latent SamplerContext::draw(const Latent& like, double from, double to) const {
  return tree ? tree->between(from, to) : noise_like(noise, like);
}

Latent sample(const Sampler& sampler, const Denoise& denoise, Latent x, const SamplerContext& given) {
  check_context(given);
  const std::vector<double> sigmas = distinct(given.sigmas);
  if (sigmas.size() < 2) return x;
  SamplerContext context = given;
  context.sigmas = sigmas;
  context.options.eta = given.options.eta.value_or(sampler.eta);
  std::optional<BrownianTree> tree;
  if (sampler.brownian)
    context.tree =
        &tree.emplace(x, sigmas.back() > 0 ? sigmas.back() : sigmas[sigmas.size() - 2], sigmas.front(), given.seed);
  const Denoise checked = [&](const Latent& latent, double sigma) {
    Estimate estimate = denoise(latent, sigma);
    if (sampler.needs_uncond && estimate.uncond.size() == 0)
      fail(ErrorCode::kInternal, "the sampler {} needs the estimate under the negative prompt too", sampler.name);
    for (const Latent* clean : {&estimate.denoised, &estimate.uncond}) {
      if (clean == &estimate.uncond && clean->size() == 0) continue;
      if (!clean->same_shape(latent)) fail(ErrorCode::kInternal, "the model changed the shape of the latent");
      if (!all_finite(*clean))
        fail(ErrorCode::kNumeric, "the model's estimate at sigma {:.4g} has NaN or infinity; try a higher precision",
             sigma);
    }
    return estimate;
  };
  return sampler.function(checked, std::move(x), context);
}

}  // namespace gesso
