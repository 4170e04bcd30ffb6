#include "media/label.h"

#include <gtest/gtest.h>

namespace gesso {
namespace {

using Lines = std::vector<std::string>;

TEST(Label, LinesAreCutAtBlanksAndByCharacter) {
  EXPECT_EQ(label_lines("", 10, 3), Lines{});
  EXPECT_EQ(label_lines("steps: 20", 10, 3), Lines{"steps: 20"});
  EXPECT_EQ(label_lines("a red house\nunder a sun", 8, 4), (Lines{"a red", "house", "under a", "sun"}));
  EXPECT_EQ(label_lines("abcdefghijkl", 8, 2), (Lines{"abcdefgh", "ijkl"}));
  EXPECT_EQ(label_lines("abcdefghijklmnopqrst", 8, 2), (Lines{"abcdefgh", "ijklm..."}));
  EXPECT_EQ(label_lines("\u732b\u732b\u732b\u732b\u732b\u732b", 4, 1), Lines{"\u732b..."});
}

/// The picture of a line, a row a string.
Lines drawn(std::string_view line, int width, int scale = 1) {
  Image image{width, kLabelHeight * scale, 1, {}};
  image.pixels.assign(static_cast<size_t>(width * image.height), 255);
  draw_label(image, 0, 0, line, scale);
  Lines rows;
  for (int y = 0; y < image.height; ++y) {
    rows.emplace_back();
    for (int x = 0; x < width; ++x) rows.back() += image.pixels[static_cast<size_t>(y * width + x)] == 0 ? '#' : '.';
  }
  return rows;
}

TEST(Label, LettersAreThoseOfTheFont) {
  EXPECT_EQ(drawn("A", 8), (Lines{"........", "........", "...##...", "..#..#..", ".#....#.", ".#....#.", ".#....#.",
                                  ".######.", ".#....#.", ".#....#.", ".#....#.", "........", "........"}));
  for (const char* sign : {"\u00e9", "\u042f", "\u03a9", "\u0159"})
    EXPECT_NE(drawn(sign, 8), drawn("\ufffd", 8)) << sign;
  EXPECT_EQ(drawn("\u732b", 8), drawn("\ufffd", 8)) << "a sign that says that there is one";
  EXPECT_EQ(drawn("\xff", 8), drawn("\ufffd", 8));
}

TEST(Label, ScaleAndBorders) {
  const Lines small = drawn("A", 8), large = drawn("A", 16, 2);
  for (int y = 0; y < 26; ++y)
    for (int x = 0; x < 16; ++x)
      EXPECT_EQ(large[static_cast<size_t>(y)][static_cast<size_t>(x)],
                small[static_cast<size_t>(y / 2)][static_cast<size_t>(x / 2)]);
  Image image{3, 3, 3, std::vector<uint8_t>(27, 255)};
  for (const int at : {-100, -5, 0, 2, 100}) draw_label(image, at, at, "WWWW", 3);
}

}  // namespace
}  // namespace gesso
