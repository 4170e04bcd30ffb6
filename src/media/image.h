#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gesso {

/// Limits of pictures read and written; checked before pixels are allocated.
inline constexpr int kMaxPictureSide = 16384;
inline constexpr int64_t kMaxPicturePixels = 100'000'000;

/// A picture of 8 bits a channel, sRGB: 1 channel (gray), 3 (RGB) or 4 (RGBA, alpha not premultiplied).
struct Image {
  int width = 0, height = 0, channels = 0;
  std::vector<uint8_t> pixels;  ///< row-major, top row first, channels interleaved: height * width * channels
};

/// Throws kUnsupported naming `name` when a picture of that size is beyond the limits.
void check_picture_size(int64_t width, int64_t height, std::string_view name);
/// Throws kInternal unless size, channels and pixels of the image agree and are within the limits.
void check_image(const Image& image);

inline constexpr std::array<uint8_t, 3> kWhite = {255, 255, 255};

/// The picture as RGB: gray is repeated, alpha is composited over `background`.
Image to_rgb(const Image& image, std::array<uint8_t, 3> background = kWhite);
/// The picture as gray, after to_rgb: luma of ITU-R BT.601, 0.299 R + 0.587 G + 0.114 B, rounded.
Image to_gray(const Image& image, std::array<uint8_t, 3> background = kWhite);

/// The picture turned upright, given its EXIF orientation (1 to 8; anything else leaves it as it is).
Image oriented(Image image, int orientation);

}  // namespace gesso
