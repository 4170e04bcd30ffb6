#pragma once
#include <memory>

#include "models/latent_diffusion.h"

namespace gesso {

/// FLUX.1 dev and schnell: Flux under T5 and the pooled text of CLIP-L. Whether it is dev, the guidance embedding
/// tells. Throws kBadFile naming what is missing or does not fit.
std::unique_ptr<LatentDiffusion> make_flux(Components components);

}  // namespace gesso
