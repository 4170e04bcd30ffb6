#include "sampling/guidance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "sampling/golden.h"
#include "sampling/helpers.h"
#include "sampling/noise.h"

namespace gesso {
namespace {

using testing::ElementsAre;

Latent combine(const GuidanceOptions& options, const std::vector<Latent>& outputs) {
  const Latent x = outputs[0];
  const std::vector<Branch> branches = find_guidance("cfg").branches(options, options.scale);
  GuidanceMemory memory;
  return find_guidance("cfg").combine(options, {x, 1, {1, -1, 1}, branches, outputs, options.scale, memory});
}

TEST(Cfg, MovesAwayFromUncond) {
  const Latent cond{1, 1, 2, {1, 2}}, uncond{1, 1, 2, {0.5, 4}};
  EXPECT_EQ(combine({.scale = 3}, {cond, uncond}).values, (std::vector<float>{2, -2}));
  EXPECT_EQ(combine({.scale = 0}, {cond, uncond}).values, uncond.values);
}

TEST(Cfg, ScaleOneNeedsNoUncond) {
  const Guidance& cfg = find_guidance("cfg");
  EXPECT_THAT(cfg.branches({}, 7), ElementsAre(Branch::kCond, Branch::kUncond));
  EXPECT_THAT(cfg.branches({.rescale = 0.7}, 1), ElementsAre(Branch::kCond));
  const Latent cond{1, 1, 2, {1, 2}};
  EXPECT_EQ(combine({.scale = 1, .rescale = 0.7}, {cond}).values, cond.values);
}

TEST(Cfg, RescaleEqualsDiffusers) {
  std::vector<float> noise(32);
  find_noise_source("cpu").make(9)->fill(noise);
  const Latent cond{4, 2, 2, {noise.begin(), noise.begin() + 16}}, uncond{4, 2, 2, {noise.begin() + 16, noise.end()}};
  expect_close(combine({.scale = 7.5, .rescale = 0.7}, {cond, uncond}).values, golden::kRescaled, 1e-6);
}

TEST(Cfg, RescaleOfAFlatOutputIsFinite) {
  const Latent flat{1, 1, 2, {1, 1}};
  EXPECT_TRUE(all_finite(combine({.scale = 7, .rescale = 1}, {flat, flat})));
}

TEST(Cfg, OptionsOutOfRangeAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  EXPECT_NO_THROW(check_guidance({.scale = -2, .rescale = 1}));
  expect_error(ErrorCode::kUsage, "CFG scale", [&] { check_guidance({.scale = nan}); });
  expect_error(ErrorCode::kUsage, "CFG scale", [&] { check_guidance({.scale = infinity}); });
  for (double rescale : {-0.1, 1.1, nan})
    expect_error(ErrorCode::kUsage, "CFG rescale", [&] { check_guidance({.rescale = rescale}); });
}

}  // namespace
}  // namespace gesso
