#include "models/names/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/names/prefixes.h"

namespace gesso {
namespace {

using testing::ElementsAre;

TEST(Pattern, SlotsStandForNumbers) {
  Numbers numbers;
  EXPECT_TRUE(match("blocks.#.attn#.weight", "blocks.12.attn0.weight", &numbers));
  EXPECT_THAT(numbers, ElementsAre(12, 0));
  EXPECT_TRUE(match("blocks.+.w", "blocks.1.w"));
  EXPECT_FALSE(match("blocks.+.w", "blocks.0.w"));
  EXPECT_FALSE(match("blocks.#.w", "blocks.01.w"));
  EXPECT_FALSE(match("blocks.#.w", "blocks..w"));
  EXPECT_FALSE(match("blocks.#.w", "blocks.1234567.w"));
  EXPECT_FALSE(match("blocks.#", "blocks.1.w"));
  EXPECT_FALSE(match("blocks.#.w", "blocks.1"));
  EXPECT_TRUE(match("", ""));
}

TEST(Pattern, APrefixSaysHowMuchItCovers) {
  EXPECT_EQ(match_prefix("blocks.#.", "blocks.10.attn"), 10u);
  EXPECT_EQ(match_prefix("", "anything"), 0u);
  EXPECT_EQ(match_prefix("longer", "long"), std::nullopt);
}

TEST(Pattern, NamesAndTheirPatternsShareAForm) {
  EXPECT_EQ(form_of("blocks.12.attn2.weight"), "blocks.#.attn#.weight");
  EXPECT_EQ(form_of("blocks.+.attn#.weight"), form_of("blocks.3.attn1.weight"));
  EXPECT_EQ(form_of(""), "");
}

TEST(Prefixes, MoreTellingOnesComeFirst) {
  EXPECT_THAT(prefixes_of({"model.diffusion_model.out.2.weight", "text_encoders.clip_l.transformer.x",
                           "conditioner.embedders.1.model.y"}),
              ElementsAre("model.diffusion_model.", "conditioner.embedders.1.model.",
                          "text_encoders.clip_l.transformer.", "text_encoders.clip_l.", "model.", ""));
  EXPECT_THAT(prefixes_of({}), ElementsAre(""));
}

TEST(Prefixes, AreBounded) {
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back("text_encoders.t" + std::to_string(i) + ".transformer.x");
  EXPECT_LT(prefixes_of({names.begin(), names.end()}).size(), 100u);
}

}  // namespace
}  // namespace gesso
