#pragma once
#include <span>
#include <vector>

namespace gesso {

// The noise of a diffusion model. At timestep t a latent is sqrt(a) * image + sqrt(1 - a) * noise, where a is the
// cumulative product of alphas at t. Samplers work with image + sigma * noise, sigma = sqrt((1 - a) / a), instead.
// Cumulative products are f32 as checkpoints and references hold them: that rounding moves the smallest sigmas by more
// than the tolerance of our tests.

/// The cumulative products for betas that are linear in their square root, from `beta_start` to `beta_end` (Rombach et
/// al. 2022; Stable Diffusion 1, 2 and XL with the default numbers).
std::vector<float> scaled_linear_alphas_cumprod(double beta_start = 0.00085, double beta_end = 0.012, int count = 1000);

/// The cumulative products rescaled so that the last timestep is noise only (Lin et al. 2023, "Common Diffusion Noise
/// Schedules and Sample Steps are Flawed", algorithm 1). The last value is 4.8973451890853435e-08, the value that web
/// UIs use in place of zero, which makes the largest sigma 4518.76 instead of infinite.
std::vector<float> zero_terminal_snr(std::span<const float> alphas_cumprod);

/// The sigmas a model was trained on, one per timestep, smallest first, interpolated by their logarithm between
/// timesteps (k-diffusion's DiscreteSchedule).
class SigmaTable {
 public:
  /// From cumulative products, for example a checkpoint's `alphas_cumprod` (in f32: a half-precision copy is too coarse
  /// to be of use). Values below the last one of zero_terminal_snr() count as that. Throws kBadFile unless there are
  /// at least two, in [0, 1) and never rising.
  static SigmaTable from_alphas_cumprod(std::span<const float> alphas_cumprod);

  /// Of a flow model, whose latents are (1 - sigma) image + sigma noise: timestep t has the sigma `shift` turns
  /// (t + 1) / count into. See flow_shift.h for shifts. Throws kUsage unless shift is above 0 and finite.
  static SigmaTable flow(double shift, int count = 1000);

  /// Whether latents are (1 - sigma) image + sigma noise, rather than image + sigma noise.
  bool is_flow() const { return shift_ > 0; }

  int count() const { return static_cast<int>(sigmas_.size()); }
  double sigma_min() const { return sigmas_.front(); }
  double sigma_max() const { return sigmas_.back(); }
  double max_timestep() const { return count() - 1; }

  /// The sigma of a timestep in [0, count - 1], which need not be whole; the nearest end for others.
  double sigma(double timestep) const;
  /// The timestep of a sigma, not rounded; the nearest end for sigmas outside of the table.
  double timestep(double sigma) const;

 private:
  explicit SigmaTable(std::vector<double> sigmas, double shift = 0);
  double shift_;  // 0: not a flow
  std::vector<double> sigmas_;
  std::vector<double> logs_;
};

}  // namespace gesso
