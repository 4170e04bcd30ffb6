#include <gtest/gtest.h>

#include <random>

#include "media/codec.h"
#include "media/test_pictures.h"
#include "temp_folder.h"

namespace gesso {
namespace {

using testing::gradient;
using testing::largest_difference;

TEST(Webp, LosslessIsExactAlsoUnderTransparency) {
  for (const int channels : {3, 4}) {
    Image image = gradient(21, 13, channels);
    if (channels == 4) image.pixels[3] = 0;
    const std::string bytes = encode_webp(image, 95, true);
    EXPECT_EQ(bytes, encode_webp(image, 95, true));
    EXPECT_EQ(largest_difference(decode_image(bytes, "x"), image), 0) << channels;
  }
}

TEST(Webp, LossyIsClose) {
  for (const int channels : {1, 3, 4}) {
    const Image image = gradient(40, 24, channels);
    const Image wanted = channels == 1 ? to_rgb(image) : image;
    EXPECT_LE(largest_difference(decode_image(encode_webp(image, 95), "x"), wanted), 16) << channels;
  }
}

TEST(Webp, RefusesWhatItCannotHold) {
  EXPECT_REFUSED(encode_webp(gradient(2, 2, 3), 101), ErrorCode::kUsage, "expected 0 to 100");
  EXPECT_REFUSED(encode_webp(gradient(16384, 1, 1)), ErrorCode::kUnsupported, "at most 16383 a side");
}

TEST(Webp, TruncationIsRefusedAndDamageNeverEscapes) {
  const std::string whole = encode_webp(gradient(33, 20, 4), 90);
  for (size_t size = 12; size < whole.size(); size += 3)
    EXPECT_REFUSED(decode_image(whole.substr(0, size), "cut.webp"), ErrorCode::kBadFile,
                   "cut.webp is a damaged or truncated WebP");
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string bad = whole;
    for (int i = 0; i < 3; ++i) bad[12 + random() % (bad.size() - 12)] = static_cast<char>(random());
    try {
      check_image(decode_image(bad, "bad.webp"));
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::kBadFile || error.code() == ErrorCode::kUnsupported) << error.what();
    }
  }
}

}  // namespace
}  // namespace gesso
