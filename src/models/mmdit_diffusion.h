#pragma once
#include <memory>

#include "models/latent_diffusion.h"

namespace gesso {

/// Stable Diffusion 3 and 3.5: MmDit under CLIP-L, OpenCLIP-G and T5. Without T5 its place in the context is zeros, as
/// in diffusers' StableDiffusion3Pipeline, and a notice says so. Throws kBadFile naming what is missing or does not
/// fit.
std::unique_ptr<LatentDiffusion> make_mmdit(Components components);

}  // namespace gesso
