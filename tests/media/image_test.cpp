#include "media/image.h"

#include <gtest/gtest.h>

#include "media/codec.h"
#include "media/test_pictures.h"
#include "temp_folder.h"

namespace gesso {
namespace {

using namespace std::string_literals;
using Pixels = std::vector<uint8_t>;

TEST(Image, ToRgb) {  // I01
  EXPECT_EQ(to_rgb({2, 1, 1, {3, 200}}).pixels, (Pixels{3, 3, 3, 200, 200, 200}));
  const Image rgba{3, 1, 4, {10, 20, 30, 0, 10, 20, 30, 255, 0, 100, 255, 128}};
  EXPECT_EQ(to_rgb(rgba).pixels, (Pixels{255, 255, 255, 10, 20, 30, 127, 177, 255}));
  EXPECT_EQ(to_rgb(rgba, {0, 0, 0}).pixels, (Pixels{0, 0, 0, 10, 20, 30, 0, 50, 128}));
}

TEST(Image, ToGray) {
  EXPECT_EQ(to_gray({4, 1, 3, {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255}}).pixels, (Pixels{76, 150, 29, 255}));
  EXPECT_EQ(to_gray({1, 1, 4, {0, 0, 0, 0}}).pixels, Pixels{255});
}

TEST(Image, Oriented) {
  const Image image{3, 2, 1, {1, 2, 3, 4, 5, 6}};
  const Pixels wanted[9] = {{},
                            {1, 2, 3, 4, 5, 6},
                            {3, 2, 1, 6, 5, 4},
                            {6, 5, 4, 3, 2, 1},
                            {4, 5, 6, 1, 2, 3},
                            {1, 4, 2, 5, 3, 6},
                            {4, 1, 5, 2, 6, 3},
                            {6, 3, 5, 2, 4, 1},
                            {3, 6, 2, 5, 1, 4}};
  for (int o = 1; o <= 8; ++o) {
    EXPECT_EQ(oriented(image, o).pixels, wanted[o]) << o;
    EXPECT_EQ(oriented(image, o).width, o < 5 ? 3 : 2);
  }
  EXPECT_EQ(oriented(image, 0).pixels, image.pixels);
}

TEST(Image, WhatIsNoImageIsNotEncoded) {
  EXPECT_REFUSED(encode_png({2, 2, 3, Pixels(11)}), ErrorCode::kInternal,
                 "not an image: 2x2 pixels, 3 channels, 11 bytes");
  EXPECT_REFUSED(encode_jpeg({2, 2, 2, Pixels(8)}), ErrorCode::kInternal, "not an image");
  EXPECT_REFUSED(encode_webp({0, 2, 3, {}}), ErrorCode::kInternal, "not an image");
}

TEST(Codec, SaysWhatTheFileIsInstead) {  // I05
  const auto decode = [](const std::string& bytes) { decode_image(bytes, "init.png"); };
  EXPECT_REFUSED(decode("GIF89a" + std::string(58, '\0')), ErrorCode::kUnsupported,
                 "init.png is a GIF: only PNG, JPEG and WebP");
  EXPECT_REFUSED(decode("\0\0\x02\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\x18\0"s), ErrorCode::kBadFile,
                 "not a PNG, JPEG or WebP");
  EXPECT_REFUSED(decode(""), ErrorCode::kBadFile, "is empty");
  EXPECT_REFUSED(decode("\0\0\0\x1c"
                        "ftypavif"s +
                        std::string(16, '\0')),
                 ErrorCode::kUnsupported, "AVIF");
  EXPECT_REFUSED(decode("\x89PNG\r\n\x1a\n"), ErrorCode::kBadFile, "truncated PNG");
  EXPECT_REFUSED(decode("\xff\xd8\xff"), ErrorCode::kBadFile, "truncated JPEG");
  EXPECT_REFUSED(decode("RIFF\x04\0\0\0WEBP"s), ErrorCode::kBadFile, "truncated WebP");
}

TEST(Codec, LoadsFiles) {
  const testing::TempFolder folder;
  const auto path =
      testing::put(folder / "картина 画 🎨.jpg", encode_png(testing::gradient(5, 4, 3)));  // content decides
  EXPECT_EQ(load_image(path).width, 5);
  EXPECT_REFUSED(load_image(folder / "none.png"), ErrorCode::kNotFound, "none.png'");
  EXPECT_REFUSED(load_image(testing::put(folder / "bad.png", "hello")), ErrorCode::kBadFile, "bad.png'");
}

}  // namespace
}  // namespace gesso
