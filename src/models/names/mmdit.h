#pragma once
#include "models/names/network.h"

namespace gesso {

/// The MMDiT of Stable Diffusion 3 and 3.5: joint_blocks.#, x_embedder, ... Our names are SAI's with fused projections
/// taken apart (q, k, v; shift and scale of the last layer and of the last block's text side); others: SAI's own,
/// diffusers'.
const Network& mmdit_network();

}  // namespace gesso
