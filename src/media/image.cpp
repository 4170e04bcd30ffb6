#include "media/image.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace gesso {
namespace {

int64_t area(const Image& image) {
  return int64_t{image.width} * image.height;
}

}  // namespace

void check_picture_size(int64_t width, int64_t height, std::string_view name) {
  if (width > kMaxPictureSide || height > kMaxPictureSide || width * height > kMaxPicturePixels)
    fail(ErrorCode::kUnsupported, "{} is {}x{} pixels: at most {} a side and {} in all are read; scale it down first",
         name, width, height, kMaxPictureSide, kMaxPicturePixels);
}

void check_image(const Image& image) {
  const bool channels = image.channels == 1 || image.channels == 3 || image.channels == 4;
  const bool sides = image.width > 0 && image.height > 0 && image.width <= kMaxPictureSide &&
                     image.height <= kMaxPictureSide && area(image) <= kMaxPicturePixels;
  if (!channels || !sides || static_cast<int64_t>(image.pixels.size()) != area(image) * image.channels)
    fail(ErrorCode::kInternal, "not an image: {}x{} pixels, {} channels, {} bytes", image.width, image.height,
         image.channels, image.pixels.size());
}

Image to_rgb(const Image& image, std::array<uint8_t, 3> background) {
  check_image(image);
  if (image.channels == 3) return image;
  Image rgb{image.width, image.height, 3, std::vector<uint8_t>(static_cast<size_t>(area(image)) * 3)};
  const uint8_t* from = image.pixels.data();
  for (uint8_t* to = rgb.pixels.data(); to != rgb.pixels.data() + rgb.pixels.size(); to += 3, from += image.channels) {
    for (size_t c = 0; c < 3; ++c) {
      if (image.channels == 1) {
        to[c] = from[0];
      } else {
        const int alpha = from[3];
        to[c] = static_cast<uint8_t>((from[c] * alpha + background[c] * (255 - alpha) + 127) / 255);
      }
    }
  }
  return rgb;
}

Image to_gray(const Image& image, std::array<uint8_t, 3> background) {
  if (image.channels == 1) return image;
  const Image rgb = to_rgb(image, background);
  Image gray{image.width, image.height, 1, std::vector<uint8_t>(static_cast<size_t>(area(image)))};
  for (size_t i = 0; i < gray.pixels.size(); ++i) {
    const uint8_t* p = rgb.pixels.data() + 3 * i;
    gray.pixels[i] = static_cast<uint8_t>((19595 * p[0] + 38470 * p[1] + 7471 * p[2] + 32768) >> 16);
  }
  return gray;
}

Image oriented(Image image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
  check_image(image);
  // EXIF 2.3, tag 0x0112: 5 to 8 have rows and columns exchanged; the flips are of the stored picture.
  const bool transpose = orientation >= 5;
  const bool flip_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool flip_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image upright{transpose ? image.height : image.width, transpose ? image.width : image.height, image.channels,
                std::vector<uint8_t>(image.pixels.size())};
  uint8_t* to = upright.pixels.data();
  for (int y = 0; y < upright.height; ++y) {
    for (int x = 0; x < upright.width; ++x, to += image.channels) {
      int from_x = transpose ? y : x, from_y = transpose ? x : y;
      if (flip_x) from_x = image.width - 1 - from_x;
      if (flip_y) from_y = image.height - 1 - from_y;
      std::copy_n(image.pixels.data() + (int64_t{from_y} * image.width + from_x) * image.channels, image.channels, to);
    }
  }
  return upright;
}

}  // namespace gesso
