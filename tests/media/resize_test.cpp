#include "media/resize.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"

namespace gesso {
namespace {

TEST(Resize, EqualsPillow) {
  std::ifstream file(GESSO_TEST_DATA "/golden/resize.json");
  const auto cases = nlohmann::json::parse(file);
  ASSERT_FALSE(cases.empty());
  for (const auto& c : cases) {
    const Image before{c["from"][0], c["from"][1], c["channels"], c["before"].get<std::vector<uint8_t>>()};
    const Image after = resized(before, c["to"][0], c["to"][1]);
    const auto expected = c["after"].get<std::vector<uint8_t>>();
    ASSERT_EQ(after.pixels.size(), expected.size()) << c["name"];
    // Its weights are fixed-point numbers; colours are divided by alpha, which is half and more here.
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(after.pixels[i], expected[i], before.channels == 4 ? 3 : 1) << c["name"] << " byte " << i;
  }
}

TEST(Resize, TheSameSizeIsTheSamePictureAndOneColourStays) {
  Image image{7, 5, 3, std::vector<uint8_t>(105)};
  std::iota(image.pixels.begin(), image.pixels.end(), uint8_t{0});
  EXPECT_EQ(resized(image, 7, 5).pixels, image.pixels);
  const Image plain{7, 5, 1, std::vector<uint8_t>(35, 200)};
  EXPECT_EQ(resized(plain, 3, 11).pixels, std::vector<uint8_t>(33, 200));
}

TEST(Repeat, TakesThePixelInWhichTheMiddleLies) {
  const Image image{3, 1, 1, {10, 20, 30}};
  EXPECT_EQ(repeated(image, 6, 2).pixels, (std::vector<uint8_t>{10, 10, 20, 20, 30, 30, 10, 10, 20, 20, 30, 30}));
  // Pillow's NEAREST of the same
  EXPECT_EQ(repeated(image, 2, 1).pixels, (std::vector<uint8_t>{10, 30}));
  EXPECT_EQ(repeated(image, 5, 1).pixels, (std::vector<uint8_t>{10, 10, 20, 30, 30}));
  EXPECT_EQ(repeated(image, 1, 1).pixels, (std::vector<uint8_t>{20}));
  EXPECT_THROW(static_cast<void>(repeated(image, 0, 5)), Error);
}

TEST(Resize, RefusesSizesThatAreNone) {
  const Image image{1, 1, 1, {0}};
  EXPECT_THROW(static_cast<void>(resized(image, 0, 5)), Error);
  EXPECT_THROW(static_cast<void>(resized(image, 5, -1)), Error);
  EXPECT_THROW(static_cast<void>(resized(image, 100000, 100000)), Error);
}

TEST(Blur, KeepsTheSumAndSpreadsAsFarAsItsDeviation) {
  std::vector<float> point(41 * 41);
  point[20 * 41 + 20] = 1;
  const std::vector<float> soft = blurred(point, 41, 41, 2);
  double sum = 0, spread = 0;
  for (int i = 0; i < 41 * 41; ++i) {
    const double v = soft[static_cast<size_t>(i)], x = i % 41 - 20;
    sum += v;
    spread += v * x * x;
  }
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_NEAR(spread, 4, 0.1);  // cut off at three deviations
  EXPECT_EQ(blurred(point, 41, 41, 0), point);
}

}  // namespace
}  // namespace gesso
