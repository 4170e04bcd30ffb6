#pragma once
#include <array>
#include <vector>

namespace gesso {

/// A linear guess at the colour of each latent: RGB in [-1, 1] is the sum over its channels of value * factor, plus
/// the bias. Latents are as the denoiser has them.
struct LatentProjection {
  std::vector<std::array<float, 3>> factors;  ///< of each channel
  std::array<float, 3> bias{};
};

/// The published factors of well-known latents (ComfyUI's latent_formats.py), which were fitted to many pictures.
/// Named after the autoencoders that latents are those of.
const LatentProjection& kl_f8_projection();       ///< of the first autoencoder with 4 channels, of factor 0.18215
const LatentProjection& kl_f8_xl_projection();    ///< of the second one, of factor 0.13025
const LatentProjection& kl_f8_16_projection();    ///< 16 channels, of factor 1.5305
const LatentProjection& kl_f8_16_b_projection();  ///< 16 channels, of factor 0.3611

}  // namespace gesso
