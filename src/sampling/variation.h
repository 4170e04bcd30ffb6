#pragma once
#include "sampling/latent.h"

namespace gesso {

/// Noise between two of one shape, `strength` (0 to 1) of the way from `noise` to `other`: the AUTOMATIC1111 web UI's
/// variations (modules/rng.py, slerp). As there, each column of each channel is a vector of its own, turned by the
/// angle between the two, so that it keeps the length of noise.
Latent varied(const Latent& noise, const Latent& other, double strength);

}  // namespace gesso
