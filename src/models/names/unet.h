#pragma once
#include "models/names/network.h"

namespace gesso {

/// The UNet of latent diffusion (Rombach et al. 2022) and its descendants. Our names are those of its first code
/// without prefix ("input_blocks.1.0.in_layers.0.weight"); the other naming is that of diffusers.
const Network& unet_network();

}  // namespace gesso
