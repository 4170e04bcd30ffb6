#pragma once
#include <string_view>
#include <vector>

#include "sampling/latent.h"
#include "sampling/sigma_table.h"

namespace gesso {

/// What surrounds a network at one sigma (Karras et al. 2022, equation 7): it is given in * x, and the clean estimate
/// is skip * x + out * output.
struct Scalings {
  double skip, out, in;
};

/// How much of the picture and of unit noise a latent of one sigma holds.
struct NoiseMix {
  double image, noise;
};

/// What a network's output means: one row of a table.
struct Prediction {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view description;
  Scalings (*scalings)(double sigma);
  /// The timestep that tells the network a sigma.
  double (*timestep)(const SigmaTable& table, double sigma);
  NoiseMix (*noise_mix)(double sigma);
};

/// All predictions:
///   eps  the noise (Ho et al. 2020): skip 1, out -sigma, in 1 / sqrt(sigma^2 + 1)
///   v    sqrt(a) * noise - sqrt(1 - a) * image (Salimans and Ho 2022): skip 1 / (sigma^2 + 1),
///        out -sigma / sqrt(sigma^2 + 1), in as eps
///   flow noise - image where the latent is (1 - sigma) image + sigma noise (Lipman et al. 2023; Liu et al. 2023):
///        skip 1, out -sigma, in 1; the network is told 1000 sigma
const std::vector<Prediction>& predictions();

/// The prediction of that name or alias. Throws kUsage listing the known ones.
const Prediction& find_prediction(std::string_view name);

/// The latent that a run from `sigma` starts with. `image` is zero for a picture from nothing: the start is then
/// sigma * noise for eps and v, as in k-diffusion and AUTOMATIC1111 (ComfyUI's is sqrt(1 + sigma^2) * noise for a full
/// run). With sigma 0 it is the image.
Latent noised(const Prediction& prediction, const Latent& image, const Latent& noise, double sigma);

}  // namespace gesso
