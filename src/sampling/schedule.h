#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "sampling/sigma_table.h"

namespace gesso {

/// A way to choose the sigmas of a run: one row of a table.
struct Schedule {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view description;
  /// `steps` sigmas from the table's largest down, never rising, then 0: steps + 1 numbers. {0} when steps < 1.
  std::vector<double> (*sigmas)(const SigmaTable& table, int steps);
};

/// All schedules; the first is the default. With n steps, T the last timestep, i = 0 ... n - 1:
///   discrete     timestep T (1 - i / (n - 1)): k-diffusion's get_sigmas; "Uniform" and "Normal" in AUTOMATIC1111,
///                "normal" in ComfyUI, "discrete" in stable-diffusion.cpp. The last step starts at the smallest sigma.
///   karras       Karras et al. 2022, equation 5, rho = 7, over the table's range.
///   simple       whole timestep T - floor(i (T + 1) / n); "simple" everywhere; diffusers' "trailing" up to rounding.
///                More steps than timesteps repeat sigmas.
///   sgm_uniform  timestep T (1 - i / n): as discrete, without the smallest sigma; "sgm_uniform" in ComfyUI.
/// With one step each gives the largest sigma, then 0.
const std::vector<Schedule>& schedules();

/// The schedule of that name or alias. Throws kUsage listing the known ones.
const Schedule& find_schedule(std::string_view name);

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
