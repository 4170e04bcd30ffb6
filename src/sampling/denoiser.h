#pragma once
#include <functional>
#include <span>
#include <vector>

#include "sampling/guidance.h"
#include "sampling/prediction.h"
#include "sampling/samplers.h"

namespace gesso {

/// A network: the raw outputs for an already scaled latent at a timestep, one for each condition asked for, in order
/// and of the latent's shape. All conditions of a call may be one batch.
using Network = std::function<std::vector<Latent>(const Latent& x, double timestep, std::span<const Branch> branches)>;

/// The clean estimate that a sampler asks for: x scaled for the network, the network's outputs guided, the result
/// turned into a picture. Throws kUsage for options out of range. Rows of tables are held by reference, the rest by
/// value.
Denoise make_denoiser(Network network, const Prediction& prediction, SigmaTable table, const Guidance& guidance,
                      const GuidanceOptions& options);

}  // namespace gesso
