#include "sampling/prediction.h"

#include <gtest/gtest.h>

#include "sampling/helpers.h"

namespace gesso {
namespace {

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
    for (const char* name : {"eps", "v", "edm_v"})
      EXPECT_NEAR(find_prediction(name).scalings(sigma).in, std::sqrt(alpha), 1e-12) << name << sigma;
  }
}

TEST(Predictions, EdmIsTheTableOfKarras) {
  const Scalings s = find_prediction("edm").scalings(1.2);
  EXPECT_NEAR(s.skip, 0.25 / (1.44 + 0.25), 1e-12);
  EXPECT_NEAR(s.out, 1.2 * 0.5 / std::sqrt(1.44 + 0.25), 1e-12);
  EXPECT_NEAR(s.in, 1 / std::sqrt(1.44 + 0.25), 1e-12);
  for (const char* name : {"edm", "edm_v"})
    EXPECT_NEAR(find_prediction(name).timestep(SigmaTable::log_uniform(0.002, 80), 80), std::log(80) / 4, 1e-12);
}

TEST(Predictions, FlowGivesBackThePictureFromAPerfectNetwork) {
  const double image = 0.8, noise = -1.7;
  for (double sigma : {0.001, 0.5, 1.0}) {
    const Prediction& flow = find_prediction("flow");
    const double x = (1 - sigma) * image + sigma * noise;
    EXPECT_NEAR(flow.scalings(sigma).skip * x + flow.scalings(sigma).out * (noise - image), image, 1e-12);
    EXPECT_EQ(flow.scalings(sigma).in, 1);
    EXPECT_NEAR(flow.timestep(flow_table(), sigma), 1000 * sigma, 1e-12);
  }
}

TEST(Predictions, NoiseIsAddedInProportionToSigma) {
  const Latent image{1, 1, 2, {1, -2}}, noise{1, 1, 2, {0.5, 0.25}};
  for (const Prediction& prediction : predictions()) {
    const double kept = prediction.name == "flow" ? 0.25 : 1;
    EXPECT_EQ(noised(prediction, image, noise, 0.75).values,
              (std::vector<float>{static_cast<float>(kept + 0.375), static_cast<float>(-2 * kept + 0.1875)}));
    EXPECT_EQ(noised(prediction, image, noise, 0).values, image.values);
  }
}

TEST(Predictions, TellTheNetworkTheTimestepOfTheTable) {
  for (const char* name : {"eps", "v"}) {
    EXPECT_EQ(find_prediction(name).timestep(zsnr_table(), zsnr_table().sigma_max()), 999);
    EXPECT_NEAR(find_prediction(name).timestep(zsnr_table(), zsnr_table().sigma(250)), 250, 1e-9);
  }
}

TEST(Predictions, AreFoundByTheNamesOfOtherPrograms) {
  EXPECT_EQ(find_prediction("epsilon").name, "eps");
  EXPECT_EQ(find_prediction("v_prediction").name, "v");
  EXPECT_EQ(find_prediction("v-prediction").name, "v");
  expect_error(ErrorCode::kUsage, "unknown prediction 'x1'; known: eps, v, edm, edm_v, flow",
               [] { find_prediction("x1"); });
}

}  // namespace
}  // namespace gesso
