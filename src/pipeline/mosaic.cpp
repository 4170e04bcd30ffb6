#include "pipeline/mosaic.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace gesso {
namespace {

struct Cuts {
  int tile = 0;
  std::vector<int> begins;
};

Cuts cut_axis(int length, int side, int unit, int overlap) {
  if (length <= side) return {length, {0}};
  const int count = (length - overlap + side - overlap - 1) / (side - overlap);
  // Begins are rounded down to the unit, which may widen a step by less than one.
  const int tile = std::min(side, rounded_up((length + (count - 1) * (overlap + unit - 1) + count - 1) / count, unit));
  std::vector<int> begins;
  for (int i = 0; i < count; ++i)
    begins.push_back(static_cast<int>(int64_t{length - tile} * i / (count - 1)) / unit * unit);
  return {tile, std::move(begins)};
}

/// How much each pixel of each tile along an axis counts. In the overlap of two the weights rise and fall along a line
/// over the fade in its middle, so that they are 1 together.
std::vector<std::vector<float>> weights_of(const std::vector<int>& begins, int tile, int fade, int scale) {
  const int size = tile * scale;
  std::vector<std::vector<float>> all(begins.size(), std::vector<float>(static_cast<size_t>(size), 1.f));
  for (size_t i = 1; i < begins.size(); ++i) {
    const int shared = (begins[i - 1] + tile - begins[i]) * scale, ramp = std::min(fade * scale, shared);
    const int before = (shared - ramp) / 2, offset = size - shared;
    for (int k = 0; k < shared; ++k) {
      const float rise =
          std::clamp((static_cast<float>(k - before) + 0.5f) / static_cast<float>(std::max(ramp, 1)), 0.f, 1.f);
      all[i][static_cast<size_t>(k)] *= ramp > 0 ? rise : (k < before ? 0.f : 1.f);
      all[i - 1][static_cast<size_t>(offset + k)] *= 1 - (ramp > 0 ? rise : (k < before ? 0.f : 1.f));
    }
  }
  return all;
}

}  // namespace

int smallest_side(int unit, int margin, int fade) {
  // Tiles that are made smaller because two suffice still have a fade on either side of what is theirs alone.
  return rounded_up(2 * margin + fade + 2 * std::max(fade, unit), unit);
}

TileLayout cut(int width, int height, int side, int unit, int margin, int fade) {
  const int overlap = 2 * margin + fade;
  if (side < smallest_side(unit, margin, fade))
    fail(ErrorCode::kInternal, "tiles of {} cannot overlap by {}", side, overlap);
  Cuts x = cut_axis(width, side, unit, overlap), y = cut_axis(height, side, unit, overlap);
  return {width, height, x.tile, y.tile, std::move(x.begins), std::move(y.begins), fade};
}

Mosaic::Mosaic(const TileLayout& tiling, int scale, int width, int height)
    : tiling_(tiling),
      scale_(scale),
      image_{width, height, 3, std::vector<uint8_t>(static_cast<size_t>(width) * static_cast<size_t>(height) * 3)},
      columns_(int64_t{tiling.width} * scale),
      band_(static_cast<size_t>(columns_ * tiling.tile_height * scale * 3)),
      across_(weights_of(tiling.x, tiling.tile_width, tiling.fade, scale)),
      down_(weights_of(tiling.y, tiling.tile_height, tiling.fade, scale)) {}

void Mosaic::add(std::span<const float> values) {
  const size_t column = next_ % tiling_.x.size(), row = next_ / tiling_.x.size();
  const std::vector<float>&across = across_[column], &down = down_[row];
  const float* from = values.data();
  for (size_t i = 0; i < down.size(); ++i) {
    const int64_t at = (tiling_.y[row] * int64_t{scale_} - done_ + static_cast<int64_t>(i)) * columns_ +
                       tiling_.x[column] * int64_t{scale_};
    float* to = band_.data() + 3 * at;
    for (const float weight : across)
      for (int c = 0; c < 3; ++c) *to++ += down[i] * weight * *from++;
  }
  if (++next_ % tiling_.x.size() != 0) return;
  const bool last = next_ == tiling_.count();
  finish_rows((last ? tiling_.height : tiling_.y[row + 1]) * scale_);
}

/// Writes the rows before `end`, to which no later tile adds, and moves what is left of the band up.
void Mosaic::finish_rows(int end) {
  const auto row = static_cast<size_t>(3 * columns_);
  for (int y = done_; y < std::min(end, image_.height); ++y) {
    const float* from = band_.data() + static_cast<size_t>(y - done_) * row;
    uint8_t* to = image_.pixels.data() + static_cast<size_t>(y) * static_cast<size_t>(image_.width) * 3;
    for (int i = 0; i < 3 * image_.width; ++i)
      to[i] = static_cast<uint8_t>(std::lround(std::clamp(from[i], 0.f, 1.f) * 255));
  }
  const size_t gone = static_cast<size_t>(end - done_) * row;
  std::copy(band_.begin() + static_cast<std::ptrdiff_t>(gone), band_.end(), band_.begin());
  std::fill(band_.end() - static_cast<std::ptrdiff_t>(gone), band_.end(), 0.f);
  done_ = end;
}

}  // namespace gesso
