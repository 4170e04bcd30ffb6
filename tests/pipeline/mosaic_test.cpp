#include "pipeline/mosaic.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gesso {
namespace {

TEST(TileLayout, CoversThePictureWithEnoughOverlap) {
  for (const int unit : {1, 2, 4})
    for (const auto& [margin, fade] : {std::pair(24, 16), {4, 0}, {18, 0}})
      for (const int asked : {0, 96, 133, 512}) {
        const int side = (std::max(asked, smallest_side(unit, margin, fade)) + unit - 1) / unit * unit;
        for (const int length : {unit, 8, side, side + unit, 2 * side, 1000, 1004}) {
          const TileLayout tiling = cut(length / unit * unit, 8 * unit, side, unit, margin, fade);
          EXPECT_LE(tiling.tile_width, std::max(side, 1));
          EXPECT_EQ(tiling.tile_width % unit, 0);
          EXPECT_EQ(tiling.x.front(), 0);
          EXPECT_EQ(tiling.x.back() + tiling.tile_width, tiling.width) << length << ' ' << side;
          for (size_t i = 1; i < tiling.x.size(); ++i) {
            EXPECT_EQ(tiling.x[i] % unit, 0);
            EXPECT_GT(tiling.x[i], tiling.x[i - 1]);
            EXPECT_GE(tiling.x[i - 1] + tiling.tile_width - tiling.x[i], 2 * margin + fade - unit + 1);
            EXPECT_GE(tiling.x[i] - tiling.x[i - 1], fade) << length << ' ' << side;
          }
        }
      }
}

TEST(TileLayout, TakesNoMoreTilesThanTheSideAsks) {
  const TileLayout one = cut(512, 300, 512, 1, 24, 16);
  EXPECT_EQ(one.count(), 1u);
  EXPECT_EQ(one.tile_height, 300);
  const TileLayout four = cut(513, 513, 512, 1, 24, 16);
  EXPECT_EQ(four.count(), 4u);
  EXPECT_LE(four.tile_width, 290) << "no larger than two tiles take";
}

/// What tiles hold when each pixel of a picture has a value of its place: put together it is the picture again,
/// whatever the weights, since those of a pixel are 1 together.
TEST(Mosaic, PutsTogetherWhatWasCut) {
  for (const int scale : {1, 3})
    for (const auto& [width, height] : {std::pair(40, 30), {200, 97}, {100, 333}}) {
      const TileLayout tiling = cut(width, height, 96, 1, 24, 16);
      const int kept_width = width * scale - 2, kept_height = height * scale - 1;
      Mosaic mosaic(tiling, scale, kept_width, kept_height);
      const auto value = [&](int x, int y) { return static_cast<float>((3 * x + 7 * y) % 256) / 255; };
      for (const int y0 : tiling.y)
        for (const int x0 : tiling.x) {
          std::vector<float> tile;
          for (int y = y0 * scale; y < (y0 + tiling.tile_height) * scale; ++y)
            for (int x = x0 * scale; x < (x0 + tiling.tile_width) * scale; ++x)
              tile.insert(tile.end(), {value(x, y), 1 - value(x, y), 2.f});
          mosaic.add(tile);
        }
      const Image image = mosaic.take();
      ASSERT_EQ(image.width, kept_width);
      ASSERT_EQ(image.height, kept_height);
      for (int y = 0; y < kept_height; ++y)
        for (int x = 0; x < kept_width; ++x) {
          const uint8_t* pixel = image.pixels.data() + 3 * (y * kept_width + x);
          const int expected = (3 * x + 7 * y) % 256;
          ASSERT_EQ(pixel[0], expected) << x << ' ' << y;
          ASSERT_EQ(pixel[1], 255 - expected);
          ASSERT_EQ(pixel[2], 255) << "what is brighter than white is white";
        }
    }
}

TEST(Mosaic, PassesFromOneTileToTheNextInTheMiddleOfTheirOverlap) {
  const TileLayout tiling = cut(128, 1, 96, 1, 24, 16);
  ASSERT_EQ(tiling.x, (std::vector<int>{0, 32}));
  Mosaic mosaic(tiling, 1, 128, 1);
  mosaic.add(std::vector<float>(3 * 96, 0.f));
  mosaic.add(std::vector<float>(3 * 96, 1.f));
  const Image image = mosaic.take();
  for (int x = 0; x < 128; ++x) {
    const int expected = x < 56 ? 0 : x >= 72 ? 255 : static_cast<int>(std::lround((x - 56 + 0.5) / 16 * 255));
    EXPECT_EQ(image.pixels[static_cast<size_t>(3 * x)], expected) << x;
  }
}

}  // namespace
}  // namespace gesso
