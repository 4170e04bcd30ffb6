#include "sampling/prediction.h"

#include <gtest/gtest.h>

#include "sampling/helpers.h"

namespace gesso {
namespace {

/// All but flow, which flow_test.cpp is about.
std::vector<Prediction> with_noise_on_top() {
  std::vector<Prediction> rows = predictions();
  std::erase_if(rows, [](const Prediction& p) { return p.name == "flow"; });
  return rows;
}

TEST(Predictions, GiveBackThePictureFromAPerfectNetwork) {
  const double image = 0.8, noise = -1.7;
  for (double sigma : {0.03, 1.0, 14.6, 4518.76}) {
    const double x = image + sigma * noise;
    const double alpha = 1 / (sigma * sigma + 1);
    const double v = std::sqrt(alpha) * noise - std::sqrt(1 - alpha) * image;
    const Scalings eps_scalings = find_prediction("eps").scalings(sigma);
    const Scalings v_scalings = find_prediction("v").scalings(sigma);
    EXPECT_NEAR(eps_scalings.skip * x + eps_scalings.out * noise, image, 1e-9) << sigma;
    EXPECT_NEAR(v_scalings.skip * x + v_scalings.out * v, image, 1e-9) << sigma;
    for (const Prediction& prediction : with_noise_on_top())
      EXPECT_NEAR(prediction.scalings(sigma).in, std::sqrt(alpha), 1e-12) << prediction.name << sigma;
  }
}

TEST(Predictions, NoiseIsAddedInProportionToSigma) {
  const Latent image{1, 1, 2, {1, -2}}, noise{1, 1, 2, {0.5, 0.25}};
  for (const Prediction& prediction : with_noise_on_top()) {
    EXPECT_EQ(noised(prediction, image, noise, 4).values, (std::vector<float>{3, -1}));
    EXPECT_EQ(noised(prediction, image, noise, 0).values, image.values);
  }
}

TEST(Predictions, TellTheNetworkTheTimestepOfTheTable) {
  for (const Prediction& prediction : with_noise_on_top()) {
    EXPECT_EQ(prediction.timestep(zsnr_table(), zsnr_table().sigma_max()), 999);
    EXPECT_NEAR(prediction.timestep(zsnr_table(), zsnr_table().sigma(250)), 250, 1e-9);
  }
}

TEST(Predictions, AreFoundByTheNamesOfOtherPrograms) {
  EXPECT_EQ(find_prediction("epsilon").name, "eps");
  EXPECT_EQ(find_prediction("v_prediction").name, "v");
  EXPECT_EQ(find_prediction("v-prediction").name, "v");
  expect_error(ErrorCode::kUsage, "unknown prediction 'x1'; known: eps, v, flow", [] { find_prediction("x1"); });
}

}  // namespace
}  // namespace gesso
