#include "pipeline/transparency.h"

#include <algorithm>
#include <utility>

namespace gesso {
namespace {

constexpr int kRings = 16;  // further away no network shows them

size_t pixels_of(const Image& image) {
  return static_cast<size_t>(image.width) * static_cast<size_t>(image.height);
}

}  // namespace

Image alpha_of(const Image& rgba) {
  Image alpha{rgba.width, rgba.height, 1, std::vector<uint8_t>(pixels_of(rgba))};
  for (size_t i = 0; i < alpha.pixels.size(); ++i) alpha.pixels[i] = rgba.pixels[4 * i + 3];
  return alpha;
}

Image with_alpha(const Image& rgb, const Image& alpha) {
  Image rgba{rgb.width, rgb.height, 4, {}};
  rgba.pixels.reserve(4 * alpha.pixels.size());
  for (size_t i = 0; i < alpha.pixels.size(); ++i) {
    rgba.pixels.insert(rgba.pixels.end(), &rgb.pixels[3 * i], &rgb.pixels[3 * i] + 3);
    rgba.pixels.push_back(alpha.pixels[i]);
  }
  return rgba;
}

Image visible_colours(const Image& rgba) {
  Image rgb{rgba.width, rgba.height, 3, std::vector<uint8_t>(3 * pixels_of(rgba))};
  std::vector<uint8_t> coloured(pixels_of(rgba));
  for (size_t i = 0; i < coloured.size(); ++i) {
    std::copy_n(&rgba.pixels[4 * i], 3, &rgb.pixels[3 * i]);
    coloured[i] = rgba.pixels[4 * i + 3] > 0;
  }
  const int width = rgba.width, height = rgba.height;
  // The uncoloured pixels next to coloured ones.
  const auto frontier_of = [&](const auto& candidates) {
    std::vector<size_t> frontier;
    std::vector<uint8_t> taken(coloured.size());
    const auto consider = [&](size_t around) {
      const int x = static_cast<int>(around % static_cast<size_t>(width)), y = static_cast<int>(around) / width;
      for (int v = std::max(0, y - 1); v <= std::min(height - 1, y + 1); ++v)
        for (int u = std::max(0, x - 1); u <= std::min(width - 1, x + 1); ++u) {
          const size_t at = static_cast<size_t>(v) * static_cast<size_t>(width) + static_cast<size_t>(u);
          if (!coloured[at] && !std::exchange(taken[at], 1)) frontier.push_back(at);
        }
    };
    candidates(consider);
    return frontier;
  };
  std::vector<size_t> frontier = frontier_of([&](const auto& consider) {
    for (size_t i = 0; i < coloured.size(); ++i)
      if (coloured[i]) consider(i);
  });
  for (int ring = 0; ring < kRings && !frontier.empty(); ++ring) {
    for (const size_t i : frontier) {
      const int x = static_cast<int>(i % static_cast<size_t>(width)), y = static_cast<int>(i) / width;
      int sum[3] = {}, count = 0;
      for (int v = std::max(0, y - 1); v <= std::min(height - 1, y + 1); ++v)
        for (int u = std::max(0, x - 1); u <= std::min(width - 1, x + 1); ++u) {
          const size_t at = static_cast<size_t>(v) * static_cast<size_t>(width) + static_cast<size_t>(u);
          if (!coloured[at]) continue;
          for (size_t c = 0; c < 3; ++c) sum[c] += rgb.pixels[3 * at + c];
          ++count;
        }
      for (size_t c = 0; c < 3; ++c) rgb.pixels[3 * i + c] = static_cast<uint8_t>((sum[c] + count / 2) / count);
    }
    for (const size_t i : frontier) coloured[i] = 1;
    frontier = frontier_of([&](const auto& consider) {
      for (const size_t i : frontier) consider(i);
    });
  }
  return rgb;
}

}  // namespace gesso
