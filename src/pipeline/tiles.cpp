#include "pipeline/tiles.h"

#include <algorithm>
#include <cmath>

namespace gesso {
namespace {

/// Where the tiles begin.
std::vector<int> begins(int size, int tile, double overlap, bool ring) {
  const double stride = std::max(1.0, std::floor(tile * (1 - overlap)));
  const double way = ring ? size : size - tile;  // from the first beginning to the last, or round to the first
  const int strides = static_cast<int>(std::ceil(way / stride));
  std::vector<int> places;
  for (int i = 0; i < (ring ? strides : strides + 1); ++i)
    places.push_back(static_cast<int>(std::lround(way * i / strides)));
  return places;
}

/// Rises from about 0 to 1 over `points`.
double ramp(int at, int points) {
  return points > 0 ? std::min(1.0, (at + 0.5) / points) : 1.0;
}

}  // namespace

std::vector<AxisTile> tiles_along(int size, int tile, double overlap, bool ring, int scale) {
  if (tile <= 0 || tile >= size)
    return {{0, size, std::vector<float>(static_cast<size_t>(size) * static_cast<size_t>(scale), 1.f)}};
  const std::vector<int> places = begins(size, tile, overlap, ring);
  const int count = static_cast<int>(places.size()), points = tile * scale, all = size * scale;
  std::vector<std::vector<double>> weights;
  std::vector<double> sums(static_cast<size_t>(all), 0);
  for (int i = 0; i < count; ++i) {
    const bool first = i == 0, last = i + 1 == count;
    const int before = first ? places.back() - size : places[static_cast<size_t>(i - 1)];
    const int after = last ? places.front() + size : places[static_cast<size_t>(i + 1)];
    const int left = first && !ring ? 0 : (before + tile - places[static_cast<size_t>(i)]) * scale;
    const int right = last && !ring ? 0 : (places[static_cast<size_t>(i)] + tile - after) * scale;
    std::vector<double>& own = weights.emplace_back();
    for (int p = 0; p < points; ++p) {
      own.push_back(std::min(ramp(p, left), ramp(points - 1 - p, right)));
      sums[static_cast<size_t>((places[static_cast<size_t>(i)] * scale + p) % all)] += own.back();
    }
  }
  std::vector<AxisTile> tiles;
  for (int i = 0; i < count; ++i) {
    AxisTile& one = tiles.emplace_back(AxisTile{places[static_cast<size_t>(i)], tile});
    for (int p = 0; p < points; ++p)
      one.weights.push_back(static_cast<float>(weights[static_cast<size_t>(i)][static_cast<size_t>(p)] /
                                               sums[static_cast<size_t>((one.begin * scale + p) % all)]));
  }
  return tiles;
}

}  // namespace gesso
