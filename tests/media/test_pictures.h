#pragma once
#include <zlib.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "media/image.h"

namespace gesso::testing {

inline std::string big_endian(uint32_t value, int bytes = 4) {
  std::string text;
  while (bytes-- > 0) text += static_cast<char>(value >> (8 * bytes));
  return text;
}

inline std::string png_chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  return big_endian(static_cast<uint32_t>(data.size())) + body +
         big_endian(static_cast<uint32_t>(
             crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))));
}

inline std::string deflated(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()), text.size());
  out.resize(size);
  return out;
}

/// A PNG of any type, by hand: `rows` are the scanlines with their filter bytes.
struct RawPng {
  uint32_t width = 1, height = 1;
  int depth = 8, color = 0;
  std::string rows;
  std::string chunks = {};  ///< before IDAT: PLTE, tRNS ...
  int interlace = 0;

  std::string bytes() const {
    const std::string header = big_endian(width) + big_endian(height) + big_endian(static_cast<uint32_t>(depth), 1) +
                               big_endian(static_cast<uint32_t>(color), 1) + std::string(2, '\0') +
                               big_endian(static_cast<uint32_t>(interlace), 1);
    return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + chunks + png_chunk("IDAT", deflated(rows)) +
           png_chunk("IEND", "");
  }
};

/// Smooth colours with a different value in every channel, so that exchanged channels or axes show.
inline Image gradient(int width, int height, int channels) {
  Image image{width, height, channels, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        image.pixels.push_back(static_cast<uint8_t>(
            c == 3 ? 255 - 100 * x / width : 40 + 150 * x / width + 30 * y / height * (c + 1) / 2 - 20 * c));
  return image;
}

inline int largest_difference(const Image& a, const Image& b) {
  if (a.width != b.width || a.height != b.height || a.channels != b.channels) return 999;
  int largest = 0;
  for (size_t i = 0; i < a.pixels.size(); ++i) largest = std::max(largest, std::abs(a.pixels[i] - b.pixels[i]));
  return largest;
}

}  // namespace gesso::testing
