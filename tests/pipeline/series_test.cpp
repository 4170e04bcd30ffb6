#include "pipeline/series.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pipeline/grid.h"
#include "pipeline/wildcards.h"
#include "temp_folder.h"

namespace gesso {
namespace {

using Values = std::vector<std::string>;

TEST(Grid, AxesAndValues) {
  const auto axes = parse_grid("steps=10, 20 ;CFG Scale=3,7.5;sr=red,\"a, \"\"b\"\"; c\"");
  ASSERT_EQ(axes.size(), 3u);
  EXPECT_EQ(axes[0].field, "steps");
  EXPECT_EQ(axes[0].values, (Values{"10", "20"}));
  EXPECT_EQ(axes[1].field, "cfg_scale");
  EXPECT_EQ(axes[1].values, (Values{"3", "7.5"}));
  EXPECT_EQ(axes[2].field, "");
  EXPECT_EQ(axes[2].values, (Values{"red", "a, \"b\"; c"}));
  EXPECT_EQ(parse_grid("steps=1-3")[0].values, (Values{"1", "2", "3"}));
  EXPECT_EQ(parse_grid("steps=1-10 (+4),20")[0].values, (Values{"1", "5", "9", "20"}));
  EXPECT_EQ(parse_grid("steps=10-1(-4)")[0].values, (Values{"10", "6", "2"}));
  EXPECT_EQ(parse_grid("steps=1-10 [5]")[0].values, (Values{"1", "3", "5", "7", "10"}));
  EXPECT_EQ(parse_grid("cfg=1-2 [3]")[0].values, (Values{"1", "1.5", "2"}));
  EXPECT_EQ(parse_grid("strength=0.1-0.3 (+0.1)")[0].values, (Values{"0.1", "0.2", "0.3"}));
  EXPECT_EQ(parse_grid("sampler=euler,DPM++ 2M Karras")[0].values, (Values{"euler", "DPM++ 2M Karras"}));
  EXPECT_EQ(parse_grid("seed=-1")[0].values, Values{"-1"});
}

TEST(Grid, MistakesAreNamed) {
  const auto refused = [](const char* text, const char* part) {
    EXPECT_REFUSED(parse_grid(text), ErrorCode::kUsage, part);
  };
  refused("", "steps=10,20");
  refused("steps", "found 'steps'");
  refused("stepz=1", "nearest is 'steps'");
  refused("steps=1,,2", "empty");
  refused("steps=1,", "empty");
  refused("steps=1;steps=2", "twice");
  refused("steps=1;cfg=2;seed=3;width=64", "three axes");
  refused("steps=1-401", "400");
  refused("seed=1-30;steps=1-30", "400");
  refused("sr=\"a", "quote");
  refused("sr=\"a\"b", "behind the quotes");
  refused("threads=1,2", "no axis");
  refused("batch_count=1,2", "no axis");
  refused("grid=a", "no axis");
}

TEST(Grid, CellsAreRequests) {
  Request r;
  r.prompt = "a red house, red sun";
  r.grid = "steps=2,3;sr=red,blue";
  const auto axes = parse_grid(r.grid);
  const Request cell = grid_cell(r, axes, {1, 1});
  EXPECT_EQ(cell.steps, 3);
  EXPECT_EQ(cell.prompt, "a blue house, blue sun");
  EXPECT_EQ(cell.grid, "");
  EXPECT_EQ(grid_cell(r, parse_grid("sampler=DPM++ 2M Karras"), {0}).scheduler, "karras");
  EXPECT_EQ(grid_cell(r, parse_grid("circular_x=false,true"), {1}).circular_x, true);
  EXPECT_REFUSED(grid_cell(r, parse_grid("sr=green,blue"), {0}), ErrorCode::kUsage, "'green'");
  EXPECT_REFUSED(grid_cell(r, parse_grid("steps=0"), {0}), ErrorCode::kUsage, "steps: wanted");
  EXPECT_REFUSED(grid_cell(r, parse_grid("steps=1.5"), {0}), ErrorCode::kUsage, "found 1.5");
  EXPECT_REFUSED(grid_cell(r, parse_grid("steps=many"), {0}), ErrorCode::kUsage, "found \"many\"");
}

Image plain(int width, int height, uint8_t value) {
  return {width, height, 3, std::vector<uint8_t>(static_cast<size_t>(width * height * 3), value)};
}

TEST(Grid, PicturesStandWhereTheirLabelsSay) {
  const auto axes = parse_grid("steps=1,2;cfg=3,4,5;seed=6,7");
  std::vector<Image> cells;
  for (int i = 0; i < 12; ++i) cells.push_back(plain(i == 3 ? 48 : 64, 64, static_cast<uint8_t>(10 + i)));
  const Image grid = compose_grid(axes, cells);
  // each value once, from the left, then from above, and in full
  std::vector<int> seen;
  for (int y = 0; y < grid.height; ++y)
    for (int x = 0; x < grid.width; ++x) {
      const int value = grid.pixels[static_cast<size_t>((y * grid.width + x) * 3)];
      if (value >= 10 && value < 22 && std::find(seen.begin(), seen.end(), value) == seen.end()) seen.push_back(value);
    }
  EXPECT_EQ(seen, (std::vector<int>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21}));
  for (int i = 0; i < 12; ++i) {
    const auto count = std::count(grid.pixels.begin(), grid.pixels.end(), static_cast<uint8_t>(10 + i));
    EXPECT_EQ(count, (i == 3 ? 48 : 64) * 64 * 3) << i;
  }
  EXPECT_GT(std::count(grid.pixels.begin(), grid.pixels.end(), 0), 1000) << "labels";
  EXPECT_REFUSED(compose_grid(parse_grid("seed=1-400"), std::vector<Image>(400, plain(8000, 1, 0))),
                 ErrorCode::kUnsupported, "grid");
}

struct Wildcards : ::testing::Test {
  testing::TempFolder folder;
  std::string fill(const std::string& text, int64_t seed = 1) { return fill_wildcards(text, folder.path(), seed); }
  void SetUp() override {
    testing::put(folder / "colour.txt", "\xEF\xBB\xBFred\n# no colour\n\n blue \r\ngreen");
    std::filesystem::create_directories(folder / "things");
    testing::put(folder / "things/big-ones.txt", "a __colour__ house");
    testing::put(folder / "circle.txt", "x __circle__");
    testing::put(folder / "empty.txt", "# nothing\n\n");
  }
};

TEST_F(Wildcards, BecomeALineOfTheirFile) {
  std::vector<std::string> seen;
  for (int seed = 0; seed < 50; ++seed) {
    const std::string text = fill("__things/big-ones__, __colour__", seed);
    EXPECT_EQ(fill("__things/big-ones__, __colour__", seed), text);
    seen.push_back(text);
  }
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(seen.size(), 9u) << "each of both";
  EXPECT_EQ(seen[0], "a blue house, blue");
  EXPECT_EQ(fill("no ____ wildcards __ here __a b__ _colour_"), "no ____ wildcards __ here __a b__ _colour_");
  EXPECT_EQ(fill("a __b c__colour__"), fill("a __b c__colour__"));
  EXPECT_NE(fill("a __b c__colour__").find("a __b c"), std::string::npos);
}

TEST_F(Wildcards, ChoicesStayTheSame) {  // of this version and every later one
  std::string chosen;
  for (int seed = 0; seed < 12; ++seed) chosen += fill("__colour__", seed)[0];
  EXPECT_EQ(chosen, "bgbrbggrbbbr");
}

TEST_F(Wildcards, WhatCannotBeFilledInIsNamed) {
  EXPECT_REFUSED(fill("__size__"), ErrorCode::kNotFound, "no size.txt");
  EXPECT_REFUSED(fill("__size__"), ErrorCode::kNotFound, "things/big-ones");
  EXPECT_REFUSED(fill("__empty__"), ErrorCode::kNotFound, "no line");
  EXPECT_REFUSED(fill("__circle__"), ErrorCode::kUsage, "name itself");
  EXPECT_REFUSED(fill("__../x__"), ErrorCode::kUsage, "out of its folder");
  EXPECT_REFUSED(fill("__/etc/passwd__"), ErrorCode::kUsage, "out of its folder");
  std::filesystem::create_symlink("/etc/hostname", folder / "link.txt");
  EXPECT_REFUSED(fill("__link__"), ErrorCode::kUsage, "out of its folder");
  EXPECT_REFUSED(fill_wildcards("a", folder / "none", 1), ErrorCode::kNotFound, "none");
  testing::put(folder / "long.txt", std::string(60'000, 'x') + "__colour__");
  EXPECT_REFUSED(fill("__long__ __long__"), ErrorCode::kUsage, "65536");
}

}  // namespace
}  // namespace gesso
