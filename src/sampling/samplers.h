#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sampling/latent.h"
#include "sampling/noise.h"
#include "sampling/schedule.h"

namespace gesso {

/// What a model makes of a latent.
struct Estimate {
  Latent denoised;     ///< the clean estimate, guided
  Latent uncond = {};  ///< the clean estimate under the negative prompt alone; empty where no one asked for it

  Estimate(Latent clean) : denoised(std::move(clean)) {}  // NOLINT: most models have no more to say
  Estimate(Latent clean, Latent unconditional) : denoised(std::move(clean)), uncond(std::move(unconditional)) {}
};

/// The clean estimate of a latent at sigma > 0. All that a sampler may ask of a model.
using Denoise = std::function<Estimate(const Latent& x, double sigma)>;

/// Called after step `step` of `steps` (1 ... steps) with the new latent and the clean estimate the step began with.
/// May throw to stop the run.
using OnStep = std::function<void(int step, int steps, const Latent& x, const Latent& denoised)>;

class BrownianTree;

/// What a user may set of samplers; each names those it is for.
struct SamplerOptions {
  /// How much noise a step adds: 0 none, 1 as much as the ancestral sampler would. Absent: the sampler's own. Flow
  /// forms know no more than 1.
  std::optional<double> eta = {};
  double s_noise = 1;            ///< multiplies the noise that is added
  double s_churn = 0;            ///< euler, heun, dpm2: noise added before steps (Karras et al. 2022, algorithm 2)
  double s_tmin = 0;             ///< s_churn: between these sigmas only
  double s_tmax = 1e30;          ///<
  int order = 0;                 ///< multistep samplers: the highest order, 1 to 4; 0: the sampler's own
  double gamma = 2;              ///< euler_ge: 1 is euler
  double noise_clip_std = 0;     ///< lcm: noise beyond so many deviations is cut off; 0: none is
  double noise_scale_start = 1;  ///< lcm: multiplies the noise of the first step
  std::optional<double> noise_scale_end = {};  ///< lcm: and of the last; absent: the same

  int order_or(int own) const { return order > 0 ? order : own; }
};

struct SamplerContext {
  std::span<const double> sigmas;  ///< falling; one step between each and the next
  Noise& noise;                    ///< for samplers that add noise
  SamplerOptions options = {};
  bool flow = false;                  ///< latents are (1 - sigma) image + sigma noise, rather than image + sigma noise
  const SigmaTable* table = nullptr;  ///< what the model was trained on; tcd needs it
  uint64_t seed = 0;                  ///< of Brownian trees
  OnStep on_step = {};                ///< may be empty
  BrownianTree* tree = nullptr;       ///< set by sample() for samplers that use it

  int steps() const { return sigmas.empty() ? 0 : static_cast<int>(sigmas.size()) - 1; }
  void report(int i, const Latent& x, const Latent& denoised) const {
    if (on_step) on_step(i + 1, steps(), x, denoised);
  }
  /// Unit noise for a step between two sigmas.
  Latent draw(const Latent& like, double from, double to) const;
};

/// A way from noise to a picture: one row of a table.
struct Sampler {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view description;
  /// `x` is the latent at the first sigma; the result is the latent at the last. Sigmas are distinct, at least two.
  Latent (*function)(const Denoise& denoise, Latent x, const SamplerContext& context);
  int evaluations_per_step = 1;    ///< of the denoiser; a step to sigma 0 always takes one
  int extra_evaluations = 0;       ///< in the first step, unless it goes to sigma 0
  double eta = 0;                  ///< what an absent eta means; above 0: draws from the context's noise
  bool takes_eta = false;          ///< whether an eta has a meaning
  bool adaptive = false;           ///< takes as many evaluations as the picture needs
  bool brownian = false;           ///< noise from a Brownian tree of the seed, which does not depend on the steps
  bool needs_uncond = false;       ///< asks for the estimate under the negative prompt
  std::string_view schedule = {};  ///< the schedule it was made for, where there is one
};

/// All samplers; the first is the default. Each function names its source.
const std::vector<Sampler>& samplers();

/// A sampler, and a schedule where the name holds one.
struct SamplerChoice {
  const Sampler* sampler;
  const Schedule* schedule;  ///< null: not named
};

/// Understands a sampler's name or alias of any of the common programs, alone or followed by a schedule's: "euler_a",
/// "Euler a", "k_euler_ancestral", "EulerAncestralDiscreteScheduler", "DPM++ 2M Karras", "k_dpmpp_2m_ka". Throws
/// kUsage listing the known samplers.
SamplerChoice find_sampler(std::string_view name);

/// How often a run over `sigmas` evaluates the denoiser: evaluations_per_step for each step between distinct sigmas,
/// one for a step to 0, extra_evaluations in the first. For an adaptive sampler a guess.
int evaluations(const Sampler& sampler, std::span<const double> sigmas);

/// Runs a sampler. Without steps (one sigma) the result is `x`. Steps between equal sigmas, which some schedules have
/// when there are more steps than timesteps, are left out, of the reports too. Throws kUsage when the context is out of
/// range (see check_sigmas) and kNumeric, naming the sigma, when the denoiser answers NaN or infinity.
Latent sample(const Sampler& sampler, const Denoise& denoise, Latent x, const SamplerContext& context);

}  // namespace gesso
