#pragma once
#include "models/names/network.h"

namespace gesso {

/// The transformer of FLUX.1: double_blocks.#, single_blocks.#, ... Our names are BFL's with fused projections taken
/// apart (q, k, v; and mlp of the single blocks; shift and scale of the last layer); others: BFL's own, diffusers'.
const Network& flux_network();

}  // namespace gesso
