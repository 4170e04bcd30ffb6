#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "sampling/sigma_table.h"

namespace gesso {

/// What a schedule may be told beyond the table and the number of steps.
struct ScheduleOptions {
  double rho = 0;                             ///< karras, polyexponential; 0: their own, 7 and 1
  double alpha = 0.6;                         ///< beta: parameters of the distribution, above 0
  double beta = 0.6;                          ///
  int tokens = 4096;                          ///< flux, flux2, logit_normal: of the picture, 16 x 16 pixels each
  double base_shift = 0.5, max_shift = 1.15;  ///< flux: mu at 256 and 4096 tokens
  double mu = 0, std = 1.75;                  ///< logit_normal: of the logit at 1024 tokens
  double logsnr_min = -15, logsnr_max = 18;   ///< logit_normal: where it is cut off
  std::span<const double> ays = {};           ///< ays: levels made for the model, falling; empty: those of SD 1.5
};

/// The models a schedule makes sense for.
enum class ScheduleFor {
  kEvery,
  kDiffusion,  ///< latents are image + sigma noise
  kFlow,       ///< latents are (1 - sigma) image + sigma noise
};

/// A way to choose the sigmas of a run: one row of a table.
struct Schedule {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view description;
  ScheduleFor models;
  std::vector<double> (*function)(const SigmaTable& table, int steps, const ScheduleOptions& options);

  /// The sigmas, never rising, then 0: steps + 1 numbers, except where the table says otherwise. {0} when steps < 1.
  /// Throws kUsage when the schedule is not for the table's kind of model, or an option is out of range.
  std::vector<double> sigmas(const SigmaTable& table, int steps, const ScheduleOptions& options = {}) const;
};

/// All schedules; the first is the default. With n steps, T the last timestep, i = 0 ... n - 1:
///   discrete     timestep T (1 - i / (n - 1)): k-diffusion's get_sigmas; "Uniform" and "Normal" in AUTOMATIC1111,
///                "normal" in ComfyUI, "discrete" in stable-diffusion.cpp. The last step starts at the smallest sigma.
///   karras       Karras et al. 2022, equation 5, rho = 7, over the table's range.
///   exponential  equal steps of ln(sigma) over the table's range (k-diffusion).
///   polyexponential  (1 - i / (n - 1)) ^ rho of the way in ln(sigma); rho 1, k-diffusion's default, is exponential.
///   ays          Sabour et al. 2024, "Align Your Steps": 11 published levels, interpolated in ln(sigma).
///   gits         Chen et al. 2024, "On the Trajectory Regularity of ODE-based Diffusion Sampling": the published
///   levels
///                for coefficient 1.20, to 20 steps; above, the 20 interpolated in ln(sigma).
///   simple       whole timestep T - floor(i (T + 1) / n); "simple" everywhere; diffusers' "trailing" up to rounding.
///                More steps than timesteps repeat sigmas.
///   sgm_uniform  timestep T (1 - i / n): as discrete, without the smallest sigma; "sgm_uniform" in ComfyUI.
///   ddim_uniform every floor((T + 1) / n)-th timestep from 1 up (ComfyUI). Can take more steps than n, T at most, and
///                starts below the largest sigma: one step starts at timestep 1.
///   smoothstep   whole timestep T s(1 - i / n), s(u) = u^2 (3 - 2 u).
///   beta         whole timestep T F(1 - i / n), F the inverse of the Beta(0.6, 0.6) distribution (Lee et al. 2024, as
///   in
///                ComfyUI). Repeated timesteps are left out, so that it can take fewer steps than n.
///   kl_optimal   tan of equal steps of arctan(sigma) (Sabour et al. 2024, equation 26, as in ComfyUI).
///   lcm          n of the 50 timesteps that latent consistency models are distilled on (Luo et al. 2023).
///   bong_tangent two arctan curves that meet at half of the range (RES4LYF), scaled to the table's range.
///   linear_quadratic  a linear part to 2.5 % of the range in n / 2 steps, then a quadratic one (Polyak et al. 2024, as
///   in
///                ComfyUI).
///   logit_normal sigmoid(mu + std z), z the normal quantile of 1 - i / n; mu grows by half of ln(tokens / 1024).
///   flux         1 - i / n shifted by exp(mu), mu_for_tokens().
///   flux2        1 - i / n shifted by exp(mu), mu_for_tokens_and_steps().
/// With one step each gives the largest sigma, then 0, unless said otherwise.
const std::vector<Schedule>& schedules();

/// The schedule of that name or alias. Throws kUsage listing the known ones.
const Schedule& find_schedule(std::string_view name);

/// The sigmas in a user's text: numbers apart by commas or white space, "14.6, 7, 3, 0". Throws kUsage for anything
/// else, for fewer than two, for more than 10,001 and as check_sigmas does.
std::vector<double> parse_sigmas(std::string_view text);

/// Throws kUsage unless there is at least one sigma and they are finite, never negative, never rising, and only the
/// last may be 0. For sigmas that a user wrote.
void check_sigmas(std::span<const double> sigmas);

/// How many of `steps` run at a denoising strength: floor(strength * steps), as diffusers does; "k of n". 0 leaves the
/// picture as it is and 1 is a full run. (AUTOMATIC1111 runs one more: floor(min(strength, 0.999) * steps) + 1.)
/// Throws kUsage when strength is not in [0, 1].
int steps_for_strength(int steps, double strength);

/// The end of a schedule that takes `steps` steps; all of it when it has fewer.
std::span<const double> last_steps(std::span<const double> sigmas, int steps);

/// Stretches a flow schedule, sigmas of (0, 1] and then 0, so that its last sigma before 0 becomes `terminal` in
/// (0, 1) and 1 stays 1 (diffusers' shift_terminal). A schedule of one step, which has only 1 to keep, stays as it is.
std::vector<double> stretch_to_terminal(std::vector<double> sigmas, double terminal);

}  // namespace gesso
