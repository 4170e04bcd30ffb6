// Every guidance against guidance.safetensors; tools/golden/guidance.py says whose the numbers are.
#include <gtest/gtest.h>

#include <set>

#include "sampling/golden_file.h"
#include "sampling/guidance.h"
#include "sampling/helpers.h"

namespace gesso {
namespace {

constexpr double kGuidanceTolerance = 1e-5;  // f32 against f64, over sums of 64 values

class GuidanceGoldens : public testing::Test {
 protected:
  Latent latent(const std::string& name) const { return {4, 4, 4, golden.at(name)}; }

  Latent guided(const char* name, const GuidanceOptions& options, bool swapped = false) {
    const Guidance& guidance = find_guidance(name);
    const std::vector<Branch> branches = guidance_branches(guidance, options, 2);
    std::vector<Latent> outputs;
    for (const Branch branch : branches) {
      const bool cond = (branch == Branch::kCond) != swapped;
      outputs.push_back(latent(branch == Branch::kEmpty       ? "empty"
                               : branch == Branch::kNoPicture ? "no_picture"
                               : cond                         ? "cond"
                                                              : "uncond"));
    }
    const Latent x = latent("x");
    return guided_output(
        guidance, options,
        {x, 2, find_prediction("eps").scalings(2), branches, outputs, guidance_scale(options, 2), memory});
  }
  void expect(const std::string& name, const Latent& got) {
    expect_close(got.values, golden.at(name), kGuidanceTolerance, name);
  }

  GoldenFile golden{"guidance"};
  GuidanceMemory memory;
};

TEST_F(GuidanceGoldens, EveryGuidanceEqualsItsReference) {
  expect("cfg.plain", guided("cfg", {.scale = 7}));
  expect("cfg.rescale", guided("cfg", {.scale = 7, .rescale = 0.7}));
  const GuidanceOptions apg{.scale = 7, .apg_eta = 0.2, .apg_momentum = -0.5, .apg_norm_threshold = 5};
  expect("apg.first", guided("apg", apg));
  expect("apg.second", guided("apg", apg, true));
  expect("perp_neg.plain", guided("perp_neg", {.scale = 7, .negative_scale = 1.5}));
  expect("dynamic_thresholding.plain", guided("dynamic_thresholding", {.scale = 15, .mimic_scale = 7}));
  expect("dynamic_thresholding.percentile",
         guided("dynamic_thresholding", {.scale = 15, .mimic_scale = 7, .threshold_percentile = 0.9}));
  expect("image.plain", guided("image", {.scale = 7, .image_scale = 1.5}));
}

TEST_F(GuidanceGoldens, EveryGuidanceHasOne) {
  std::set<std::string, std::less<>> covered;
  for (const auto& [name, values] : golden.all()) covered.insert(name.substr(0, name.find('.')));
  for (const Guidance& guidance : guidances()) EXPECT_TRUE(covered.contains(guidance.name)) << guidance.name;
}

TEST_F(GuidanceGoldens, ApgWithoutOptionsIsCfg) {
  expect("cfg.plain", guided("apg", {.scale = 7}));
  expect("cfg.plain", guided("dynamic_thresholding", {.scale = 7, .mimic_scale = 7}));
}

using Branches = std::vector<Branch>;

TEST(GuidanceBranches, WithoutEffectAreNotEvaluated) {
  for (const Guidance& guidance : guidances())
    if (guidance.name != "perp_neg") {
      EXPECT_EQ(guidance_branches(guidance, {.scale = 1}, 1), Branches{Branch::kCond}) << guidance.name;
    }
  const Guidance& image = find_guidance("image");
  EXPECT_EQ(guidance_branches(image, {.scale = 7}, 1), (Branches{Branch::kCond, Branch::kUncond}));
  EXPECT_EQ(guidance_branches(image, {.scale = 7, .image_scale = 7}, 1), (Branches{Branch::kCond, Branch::kNoPicture}));
  const Guidance& perp_neg = find_guidance("perp_neg");
  EXPECT_EQ(guidance_branches(perp_neg, {.scale = 1, .negative_scale = 0}, 1), Branches{Branch::kCond});
  EXPECT_EQ(guidance_branches(perp_neg, {.scale = 7, .negative_scale = 0}, 1),
            (Branches{Branch::kCond, Branch::kEmpty}));
}

TEST(GuidanceBranches, FollowTheStep) {
  const Guidance& cfg = find_guidance("cfg");
  const GuidanceOptions interval{.scale = 7, .start = 0.25, .end = 0.75, .sigmas = {8, 4, 2, 1, 0}};
  const double want[] = {1, 7, 7, 1};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(guidance_scale(interval, interval.sigmas[i]), want[i]) << i;
  EXPECT_EQ(guidance_scale(interval, 3), 7);  // between two sigmas: of the step that began above
  EXPECT_EQ(guidance_scale(interval, 0.5), 1);
  EXPECT_EQ(guidance_branches(cfg, interval, 8), Branches{Branch::kCond});
  EXPECT_TRUE(takes_branch(cfg, interval, Branch::kUncond));
  EXPECT_FALSE(takes_branch(cfg, interval, Branch::kEmpty));
  const GuidanceOptions schedule{.scale = 5, .schedule = {7, 1}, .sigmas = {8, 4, 2, 0}};
  EXPECT_EQ(guidance_scale(schedule, 8), 7);
  EXPECT_EQ(guidance_scale(schedule, 4), 1);
  EXPECT_EQ(guidance_scale(schedule, 2), 5);
  EXPECT_FALSE(takes_branch(cfg, {.scale = 7, .schedule = {1, 1}, .sigmas = {8, 4, 0}}, Branch::kUncond));
}

TEST(GuidanceBranches, SkipLayersWorkInTheirSteps) {
  const Guidance& cfg = find_guidance("cfg");
  GuidanceOptions options{.scale = 1, .skip_scale = 2, .skip_start = 0, .skip_end = 0.5};
  EXPECT_EQ(guidance_branches(cfg, options, 8), Branches{Branch::kCond});  // no steps known
  for (int i = 10; i >= 0; --i) options.sigmas.push_back(i);
  EXPECT_EQ(guidance_branches(cfg, options, 10), (Branches{Branch::kCond, Branch::kSkipLayers}));
  EXPECT_EQ(guidance_branches(cfg, options, 5), Branches{Branch::kCond});
  const std::vector<Branch> branches{Branch::kCond, Branch::kSkipLayers};
  const std::vector<Latent> outputs{{1, 1, 1, {3}}, {1, 1, 1, {2}}};
  GuidanceMemory memory;
  EXPECT_EQ(guided_output(cfg, options, {outputs[0], 10, {1, -1, 1}, branches, outputs, 1, memory}).values[0], 5);
}

TEST(GuidanceSchedule, IsReadAsScalesAndSteps) {
  EXPECT_EQ(parse_guidance_schedule("7x2+1x1"), (std::vector<double>{7, 7, 1}));
  EXPECT_EQ(parse_guidance_schedule("2.5x1"), std::vector<double>{2.5});
  for (const char* text : {"7", "x2", "7x", "7x0", "7x-1", "7x2+", "+7x2", "7x2+1", "infx2", "7x2 ", "7x99999"})
    expect_error(ErrorCode::kUsage, "guidance schedule", [&] { parse_guidance_schedule(text); });
}

}  // namespace
}  // namespace gesso
