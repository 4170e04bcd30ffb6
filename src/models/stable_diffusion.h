#pragma once
#include <memory>

#include "models/latent_diffusion.h"
#include "models/prompt_encoders.h"

namespace gesso {

/// What distinguishes the latent diffusion models that share this one UNet.
struct StableDiffusionTraits {
  std::vector<ClipText::Traits> encoders;  ///< their hidden states side by side are the context
  int fixed_heads = 0;                     ///< attention heads of every UNet block; 0: one per 64 channels
  bool size_conditioning = false;          ///< the vector condition: pooled text and the picture's sizes
  bool velocity_by_spread = false;         ///< whether the spread of a bias tells v from eps (SD 2.x)
  float latent_factor = 0.18215f;
  const LatentProjection& (*projection)() = kl_f8_projection;
  Defaults defaults;
};

/// Builds the model from its components. Metadata of the files overrides what the traits assume (docs/metadata.md).
/// Throws kBadFile naming what is missing or does not fit.
std::unique_ptr<LatentDiffusion> make_stable_diffusion(Components components, const StableDiffusionTraits& traits);

}  // namespace gesso
