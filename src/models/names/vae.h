#pragma once
#include "models/names/network.h"

namespace gesso {

/// The KL autoencoder of latent diffusion (Rombach et al. 2022), with or without its quantisation convolutions, whole
/// or one half of it. Our names are those of its first code without prefix ("decoder.up.0.block.0.norm1.weight"); the
/// other naming is that of diffusers, with both of its spellings of attention.
const Network& vae_network();

}  // namespace gesso
