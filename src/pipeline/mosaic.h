#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "media/image.h"

namespace gesso {

/// The next multiple of `unit`.
inline int rounded_up(int value, int unit) {
  return (value + unit - 1) / unit * unit;
}

/// A picture cut into rectangles of one size, which lie over each other at their borders.
struct TileLayout {
  int width = 0, height = 0;  ///< of the picture, multiples of the unit
  int tile_width = 0, tile_height = 0;
  std::vector<int> x, y;  ///< where columns and rows of tiles begin
  int fade = 0;           ///< pixels over which one tile passes into the next, in the middle of their overlap
  size_t count() const { return x.size() * y.size(); }
};

/// As few tiles of at most `side` pixels a side as overlap by twice the margin and the fade; they are no larger than
/// that takes. Sizes and places are multiples of `unit`, as `width`, `height` and `side` are. `side` is at
/// least smallest_side().
int smallest_side(int unit, int margin, int fade);
TileLayout cut(int width, int height, int side, int unit, int margin, int fade);

/// Puts results of tiles together, row by row of tiles: within the fade of two tiles each weighs the more the farther
/// it reaches beyond, elsewhere the nearer one counts alone. Holds one row of tiles as floats.
class Mosaic {
 public:
  /// The result is `scale` times the tiling's picture, of which width x height pixels are kept.
  Mosaic(const TileLayout& tiling, int scale, int width, int height);
  /// The next tile, from left to right, rows from the top: RGB in [0, 1], scale times the tile's size.
  void add(std::span<const float> values);
  /// When all tiles are there.
  Image take() { return std::move(image_); }

 private:
  void finish_rows(int end);

  TileLayout tiling_;
  int scale_;
  Image image_;
  int64_t columns_;                                ///< of the band: the whole width
  std::vector<float> band_;                        ///< weighted sums, from row `done_` on
  int done_ = 0;                                   ///< rows of the result that are finished
  size_t next_ = 0;                                ///< tile
  std::vector<std::vector<float>> across_, down_;  ///< weights of each column's and row's pixels
};

}  // namespace gesso
