#include "pipeline/tiling.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace gesso {
namespace {

constexpr int kLeastSide = 8, kMostSide = 1024;  // latents: what a picture has at most
constexpr double kMostTiles = 1024;              // along a side
constexpr std::array<int, 4> kFallbackSides = {96, 64, 48, 32};

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

/// "W" or "WxH"; nothing for other texts.
std::optional<std::pair<double, double>> pair_of(std::string_view text) {
  const size_t cross = text.find_first_of("xX");
  const auto width = number_of(text.substr(0, cross));
  const auto height = cross == text.npos ? width : number_of(text.substr(cross + 1));
  if (!width || !height) return std::nullopt;
  return std::pair{*width, *height};
}

bool is_side(double side) {
  return side == 0 || (side == std::floor(side) && side >= kLeastSide && side <= kMostSide);
}

/// The relative size: of a side of `size` latents.
int share_of(double relative, double overlap, int size) {
  if (relative <= 0) return 0;
  const double share = relative > 1 ? 1 / (relative - relative * overlap + overlap) : relative;
  return std::clamp(static_cast<int>(std::ceil(share * size)), std::min(kLeastSide, size), size);
}

}  // namespace

void check_tiling(const Request& request) {
  if (const std::string& text = request.vae_tile_size; !text.empty()) {
    const auto sides = pair_of(text);
    if (!sides || !is_side(sides->first) || !is_side(sides->second))
      fail(ErrorCode::kUsage,
           "vae_tile_size: wanted W or WxH, whole numbers of latents from {} to {} (0: not cut), such as 64x64, found "
           "{}",
           kLeastSide, kMostSide, shown(Json(text)));
  }
  if (const std::string& text = request.vae_relative_tile_size; !text.empty()) {
    const auto sides = pair_of(text);
    const auto fits = [](double side) { return side >= 0 && side <= kMostTiles; };
    if (!sides || !fits(sides->first) || !fits(sides->second))
      fail(ErrorCode::kUsage,
           "vae_relative_tile_size: wanted W or WxH, each a share of the picture up to 1 or a number of tiles up to {} "
           "(0: not cut), such as 0.5x0.5 or 2x3, found {}",
           kMostTiles, shown(Json(text)));
  }
}

Tiling tiling_of(const Request& request, int width, int height) {
  if (!request.vae_tiling) return {};
  constexpr double kSide = 64;
  const double overlap = request.vae_tile_overlap.value_or(kTileOverlap);
  if (!request.vae_relative_tile_size.empty()) {
    const auto [across, down] = *pair_of(request.vae_relative_tile_size);
    return {share_of(across, overlap, width), share_of(down, overlap, height), overlap};
  }
  const auto [across, down] = pair_of(request.vae_tile_size).value_or(std::pair{kSide, kSide});
  return {static_cast<int>(across), static_cast<int>(down), overlap};
}

std::span<const int> fallback_tile_sides() {
  return kFallbackSides;
}

void set_tiling(Request& request, const Tiling& tiling) {
  request.vae_tiling = true;
  request.vae_tile_size = fmt::format("{}x{}", tiling.width, tiling.height);
  request.vae_relative_tile_size.clear();
  request.vae_tile_overlap = tiling.overlap;
}

}  // namespace gesso
