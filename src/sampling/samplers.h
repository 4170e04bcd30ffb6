#pragma once
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "sampling/latent.h"
#include "sampling/noise.h"
#include "sampling/schedule.h"

namespace gesso {

/// The clean estimate of a latent x = image + sigma * noise; sigma > 0. All that a sampler may ask of a model.
using Denoise = std::function<Latent(const Latent& x, double sigma)>;

/// Called after step `step` of `steps` (1 ... steps) with the new latent and the clean estimate the step began with.
/// May throw to stop the run.
using OnStep = std::function<void(int step, int steps, const Latent& x, const Latent& denoised)>;

struct SamplerContext {
  std::span<const double> sigmas;  ///< falling; one step between each and the next
  Noise& noise;                    ///< for samplers that add noise
  double eta = 1;                  ///< 0: add none; 1: as much as the ancestral sampler would
  double s_noise = 1;              ///< multiplies the noise that is added
  OnStep on_step = {};             ///< may be empty

  int steps() const { return sigmas.empty() ? 0 : static_cast<int>(sigmas.size()) - 1; }
  void report(int i, const Latent& x, const Latent& denoised) const {
    if (on_step) on_step(i + 1, steps(), x, denoised);
  }
};

/// A way from noise to a picture: one row of a table.
struct Sampler {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view description;
  int evaluations_per_step;  ///< of the denoiser; a step to sigma 0 always takes one
  bool uses_noise;           ///< whether it draws from the context's noise
  /// `x` is the latent at the first sigma; the result is the latent at the last.
  Latent (*function)(const Denoise& denoise, Latent x, const SamplerContext& context);
};

/// All samplers; the first is the default. The formulas are those of k-diffusion.
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

/// How often a run over `sigmas` evaluates the denoiser: evaluations_per_step for each step, one for a step to 0.
int evaluations(const Sampler& sampler, std::span<const double> sigmas);

/// Runs a sampler. Without steps (one sigma) the result is `x`. Throws kUsage when the context is out of range
/// (see check_sigmas) and kNumeric, naming the sigma, when the denoiser answers NaN or infinity.
Latent sample(const Sampler& sampler, const Denoise& denoise, Latent x, const SamplerContext& context);

// The functions of the table, each in a file of its own.
Latent sample_euler(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_euler_ancestral(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_heun(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_dpmpp_2m(const Denoise& denoise, Latent x, const SamplerContext& context);

/// One Euler step of dx / dsigma = (x - denoised) / sigma from sigma to `next`.
Latent euler_step(const Latent& x, const Latent& denoised, double sigma, double next);

}  // namespace gesso
