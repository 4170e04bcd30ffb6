#include "sampling/denoiser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sampling/helpers.h"

namespace gesso {
namespace {

Denoise denoiser(Network network, const GuidanceOptions& options) {
  return make_denoiser(std::move(network), find_prediction("eps"), stable_diffusion_table(), find_guidance("cfg"),
                       options);
}

TEST(Denoiser, ScalesTheInputAndGuidesTheOutput) {
  const double sigma = stable_diffusion_table().sigma(300);
  const Latent x{1, 1, 1, {2}};
  const Network network = [&](const Latent& x_in, double timestep, std::span<const Branch> branches) {
    EXPECT_NEAR(x_in.values[0], 2 / std::sqrt(sigma * sigma + 1), 1e-6);
    EXPECT_NEAR(timestep, 300, 1e-6);
    EXPECT_EQ(branches.size(), 2u);
    return std::vector<Latent>{{1, 1, 1, {0.5}}, {1, 1, 1, {0.25}}};
  };
  EXPECT_NEAR(denoiser(network, {.scale = 3})(x, sigma).denoised.values[0], 2 - sigma * 1.0, 1e-6);
}

TEST(Denoiser, AsksForOneConditionWithoutGuidance) {
  int asked = 0;
  const Network network = [&](const Latent& x_in, double, std::span<const Branch> branches) {
    asked += static_cast<int>(branches.size());
    return std::vector<Latent>(branches.size(), x_in);
  };
  denoiser(network, {.scale = 1})({1, 1, 1, {2}}, 1);
  EXPECT_EQ(asked, 1);
}

TEST(Denoiser, RefusesBadOptionsAndANetworkThatAnswersTooLittle) {
  const Network network = [](const Latent&, double, std::span<const Branch>) { return std::vector<Latent>{}; };
  expect_error(ErrorCode::kUsage, "CFG rescale", [&] { denoiser(network, {.rescale = 2}); });
  expect_error(ErrorCode::kInternal, "0 conditions of 2", [&] { denoiser(network, {})({1, 1, 1, {2}}, 1); });
}

}  // namespace
}  // namespace gesso
