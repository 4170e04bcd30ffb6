#include <gtest/gtest.h>

#include "media/codec.h"
#include "media/test_pictures.h"
#include "temp_folder.h"

namespace gesso {
namespace {

using namespace std::string_literals;
using testing::gradient;
using testing::png_chunk;
using testing::RawPng;

using Pixels = std::vector<uint8_t>;

Image decode(const RawPng& png) {
  return decode_image(png.bytes(), "test.png");
}

TEST(Png, RoundTripIsExactAndDeterministic) {
  for (const int channels : {1, 3, 4}) {
    const Image image = gradient(37, 11, channels);
    const std::string bytes = encode_png(image);
    EXPECT_EQ(bytes, encode_png(image));
    EXPECT_EQ(testing::largest_difference(decode_image(bytes, "x"), image), 0) << channels;
  }
}

TEST(Png, GrayOfEveryDepth) {  // I04
  EXPECT_EQ(decode({4, 1, 1, 0, "\0\xa0"s}).pixels, (Pixels{255, 0, 255, 0}));
  EXPECT_EQ(decode({4, 1, 2, 0, "\0\x1b"s}).pixels, (Pixels{0, 85, 170, 255}));
  EXPECT_EQ(decode({2, 1, 4, 0, "\0\x0f"s}).pixels, (Pixels{0, 255}));
  EXPECT_EQ(decode({2, 1, 8, 0, "\0\x07\xff"s}).pixels, (Pixels{7, 255}));
  // 16 bits are rounded, not cut: 0x01ff is 1.99 of 255
  EXPECT_EQ(decode({2, 1, 16, 0, "\0\x01\xff\xff\xff"s}).pixels, (Pixels{2, 255}));
  EXPECT_EQ(decode({2, 1, 1, 0, "\0\x80"s}).channels, 1);
}

TEST(Png, ColourTypes) {  // I01
  EXPECT_EQ(decode({1, 1, 8, 2, "\0\x01\x02\x03"s}).pixels, (Pixels{1, 2, 3}));
  EXPECT_EQ(decode({1, 1, 16, 2, "\0\x01\0\x02\0\x03\0"s}).pixels, (Pixels{1, 2, 3}));
  EXPECT_EQ(decode({1, 1, 8, 4, "\0\x09\x80"s}).pixels, (Pixels{9, 9, 9, 128}));
  EXPECT_EQ(decode({1, 1, 8, 6, "\0\x01\x02\x03\x04"s}).pixels, (Pixels{1, 2, 3, 4}));
}

TEST(Png, PaletteAndTransparency) {  // I02
  const std::string palette = png_chunk("PLTE", "\x0a\x0b\x0c\x14\x15\x16"s);
  EXPECT_EQ(decode({2, 1, 8, 3, "\0\x01\0"s, palette}).pixels, (Pixels{20, 21, 22, 10, 11, 12}));
  EXPECT_EQ(decode({2, 1, 1, 3, "\0\x40"s, palette + png_chunk("tRNS", "\x7f"s)}).pixels,
            (Pixels{10, 11, 12, 127, 20, 21, 22, 255}));
  EXPECT_EQ(decode({2, 1, 8, 0, "\0\x05\x06"s, png_chunk("tRNS", "\0\x05"s)}).pixels,
            (Pixels{5, 5, 5, 0, 6, 6, 6, 255}));
  EXPECT_EQ(decode({2, 1, 8, 2, "\0\x01\x02\x03\x01\x02\x04"s, png_chunk("tRNS", "\0\x01\0\x02\0\x03"s)}).pixels,
            (Pixels{1, 2, 3, 0, 1, 2, 4, 255}));
}

TEST(Png, Interlaced) {  // I04
  const Image image = gradient(11, 9, 1);
  RawPng png{11, 9, 8, 0, "", "", 1};
  const int passes[7][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                            {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
  for (const auto& [x0, y0, dx, dy] : passes)
    for (int y = y0; y < 9; y += dy) {
      png.rows += '\0';
      for (int x = x0; x < 11; x += dx) png.rows += static_cast<char>(image.pixels[static_cast<size_t>(y * 11 + x)]);
    }
  EXPECT_EQ(testing::largest_difference(decode(png), image), 0);
}

TEST(Png, SizeIsCheckedBeforePixelsAreAllocated) {  // I05
  EXPECT_REFUSED(decode({20000, 20000, 8, 6, "\0"s}), ErrorCode::kUnsupported, "test.png is 20000x20000 pixels");
  EXPECT_REFUSED(decode({16384, 16384, 8, 6, "\0"s}), ErrorCode::kUnsupported, "test.png is 16384x16384 pixels");
  EXPECT_REFUSED(decode({0x7fffffff, 0x7fffffff, 8, 6, "\0"s}), ErrorCode::kUnsupported, "pixels");
  EXPECT_REFUSED(decode({0, 5, 8, 6, "\0"s}), ErrorCode::kBadFile, "damaged");
}

TEST(Png, EveryTruncationAndDamageIsRefused) {
  const std::string whole = encode_png(gradient(9, 7, 3));
  for (size_t size = 8; size < whole.size(); ++size)
    EXPECT_REFUSED(decode_image(whole.substr(0, size), "cut.png"), ErrorCode::kBadFile,
                   "cut.png is a damaged or truncated PNG");
  for (size_t at = 8; at < whole.size(); ++at) {
    std::string bad = whole;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    try {
      decode_image(bad, "bad.png");  // a chunk may become an ancillary one, which readers skip
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::kBadFile || error.code() == ErrorCode::kUnsupported) << error.what();
    }
  }
}

TEST(Png, TextThatInflatesWithoutEndIsSkipped) {
  const std::string bomb = png_chunk("zTXt", "parameters\0\0"s + testing::deflated(std::string(20 << 20, 'x')));
  EXPECT_EQ(decode({1, 1, 8, 0, "\0\x07"s, bomb}).pixels, Pixels{7});
  EXPECT_EQ(read_picture_info(RawPng{1, 1, 8, 0, "\0\x07"s, bomb}.bytes()).parameters, "");
}

}  // namespace
}  // namespace gesso
