#include <cstdio>
// jpeglib.h needs stdio.h before it
#include <gtest/gtest.h>
#include <jpeglib.h>

#include <random>

#include "media/codec.h"
#include "media/test_pictures.h"
#include "temp_folder.h"

namespace gesso {
namespace {

using testing::gradient;
using testing::largest_difference;

std::string with_orientation(const std::string& jpeg, int orientation) {
  using testing::big_endian;
  const auto value = static_cast<uint32_t>(orientation);
  const std::string tiff = std::string("MM\0*", 4) + big_endian(8) + big_endian(1, 2) + big_endian(0x0112, 2) +
                           big_endian(3, 2) + big_endian(1) + big_endian(value, 2) + big_endian(0, 2) + big_endian(0);
  const std::string payload = std::string("Exif\0\0", 6) + tiff;
  return jpeg.substr(0, 2) + "\xff\xe1" + big_endian(static_cast<uint32_t>(payload.size() + 2), 2) + payload +
         jpeg.substr(2);
}

/// A one-colour CMYK file; `adobe` writes the marker that Adobe's programs do (and then means inverted values).
std::string cmyk_jpeg(const uint8_t (&ink)[4], bool adobe) {
  jpeg_error_mgr errors;
  jpeg_compress_struct codec{};
  codec.err = jpeg_std_error(&errors);
  jpeg_create_compress(&codec);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&codec, &data, &size);
  codec.image_width = codec.image_height = 8;
  codec.input_components = 4;
  codec.in_color_space = JCS_CMYK;
  jpeg_set_defaults(&codec);
  jpeg_set_quality(&codec, 100, TRUE);
  codec.write_Adobe_marker = adobe;
  jpeg_start_compress(&codec, TRUE);
  std::vector<uint8_t> row;
  for (int x = 0; x < 8; ++x) row.insert(row.end(), ink, ink + 4);
  JSAMPROW rows = row.data();
  while (codec.next_scanline < 8) jpeg_write_scanlines(&codec, &rows, 1);
  jpeg_finish_compress(&codec);
  jpeg_destroy_compress(&codec);
  std::string bytes(reinterpret_cast<char*>(data), size);
  free(data);
  return bytes;
}

TEST(Jpeg, RoundTripIsCloseAndDeterministic) {
  for (const int channels : {1, 3}) {
    const Image image = gradient(53, 29, channels);
    const std::string bytes = encode_jpeg(image);
    EXPECT_EQ(bytes, encode_jpeg(image));
    EXPECT_LE(largest_difference(decode_image(bytes, "x"), image), 6) << channels;
    EXPECT_LT(encode_jpeg(image, 10).size(), bytes.size());
  }
}

TEST(Jpeg, ChromaIsNotSubsampled) {
  Image stripes{16, 16, 3, {}};
  for (int i = 0; i < 256; ++i) {
    const bool red = i % 2;
    stripes.pixels.insert(stripes.pixels.end(),
                          {static_cast<uint8_t>(red ? 200 : 60), 60, static_cast<uint8_t>(red ? 60 : 200)});
  }
  EXPECT_LE(largest_difference(decode_image(encode_jpeg(stripes), "x"), stripes), 24);
}

TEST(Jpeg, AlphaIsCompositedOverWhite) {
  const Image clear{8, 8, 4, std::vector<uint8_t>(256, 0)};
  const Image back = decode_image(encode_jpeg(clear), "x");
  EXPECT_EQ(largest_difference(back, Image{8, 8, 3, std::vector<uint8_t>(192, 255)}), 0);
}

TEST(Jpeg, QualityIsChecked) {
  for (const int quality : {-1, 0, 101})
    EXPECT_REFUSED(encode_jpeg(gradient(2, 2, 3), quality), ErrorCode::kUsage, "expected 1 to 100");
}

TEST(Jpeg, OrientationIsApplied) {  // I02
  const Image upright = gradient(24, 16, 1);
  // how a camera stores the upright picture for each orientation: the inverse of the turn that shows it
  const int inverse[9] = {0, 1, 2, 3, 4, 5, 8, 7, 6};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Image stored = oriented(upright, inverse[orientation]);
    const Image seen = decode_image(with_orientation(encode_jpeg(stored, 100), orientation), "x");
    EXPECT_LE(largest_difference(seen, upright), 3) << orientation;
  }
  EXPECT_EQ(decode_image(with_orientation(encode_jpeg(upright), 9), "x").width, 24);
}

TEST(Jpeg, Cmyk) {
  const Image plain = decode_image(cmyk_jpeg({255, 0, 0, 0}, false), "x");  // full cyan ink
  EXPECT_LE(largest_difference(plain,
                               [] {
                                 Image cyan{8, 8, 3, {}};
                                 for (int i = 0; i < 64; ++i) cyan.pixels.insert(cyan.pixels.end(), {0, 255, 255});
                                 return cyan;
                               }()),
            2);
  const Image adobe = decode_image(cmyk_jpeg({0, 255, 255, 255}, true), "x");
  EXPECT_LE(largest_difference(adobe, plain), 2);
}

TEST(Jpeg, TruncationIsRefused) {
  const std::string whole = encode_jpeg(gradient(33, 20, 3));
  for (size_t size = 3; size < whole.size(); size += 7)
    EXPECT_REFUSED(decode_image(whole.substr(0, size), "cut.jpg"), ErrorCode::kBadFile,
                   "cut.jpg is a damaged or truncated JPEG");
}

TEST(Jpeg, DamageNeverEscapes) {
  const std::string whole = encode_jpeg(gradient(33, 20, 3));
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string bad = whole;
    for (int i = 0; i < 3; ++i) bad[3 + random() % (bad.size() - 3)] = static_cast<char>(random());
    try {
      check_image(decode_image(bad, "bad.jpg"));
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::kBadFile || error.code() == ErrorCode::kUnsupported) << error.what();
    }
  }
}

}  // namespace
}  // namespace gesso
