#pragma once
#include <vector>

namespace gesso {

/// The tiles in which an autoencoder works, in latents. A side as long as the picture's, or 0, means that it is not
/// cut.
struct Tiling {
  int width = 0, height = 0;
  double overlap = 0;  ///< of neighbours, as a share of a tile's side, 0 to 0.5
};

/// A tile along one axis: `size` places from `begin` on; on a ring those beyond the last come round.
struct AxisTile {
  int begin = 0, size = 0;
  /// How much of it shows, for each of `scale` points a place: those of all tiles sum to 1 at every point.
  std::vector<float> weights = {};
};

/// Cuts an axis of `size` places into tiles of `tile` (one, when it is as long, or 0), evenly spread, each shared with
/// its neighbour for at least `overlap` of its length. Where two meet, one fades into the other linearly. On a ring
/// (`ring`), the last meets the first; one tile alone does not meet itself.
std::vector<AxisTile> tiles_along(int size, int tile, double overlap, bool ring, int scale);

}  // namespace gesso
