#pragma once
#include <span>

#include "pipeline/request.h"
#include "pipeline/tiles.h"

namespace gesso {

/// What a request says about the autoencoder's tiles. Throws kUsage for a size that is none: wanted are "W" or "WxH",
/// in latents from 8 on, or, relative, numbers above 0.
void check_tiling(const Request& request);

/// The tiles of a latent of that size; no cuts where the request wants none. A relative size up to 1 is a share of the
/// picture; a larger one is how many tiles there are, with their overlap (as in stable-diffusion.cpp). 0 leaves a side
/// uncut. A tile has 8 latents a side at least.
Tiling tiling_of(const Request& request, int width, int height);

/// Sides of square tiles to try where memory is too small for the whole, best first.
std::span<const int> fallback_tile_sides();

/// Writes a tiling into the request, so that it is painted so again.
void set_tiling(Request& request, const Tiling& tiling);

inline constexpr double kTileOverlap = 0.25;

}  // namespace gesso
