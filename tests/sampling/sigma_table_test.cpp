#include "sampling/sigma_table.h"

#include <gtest/gtest.h>

#include <limits>

#include "sampling/golden.h"
#include "sampling/helpers.h"

namespace gesso {
namespace {

void expect_sigmas(const SigmaTable& table, const std::vector<double>& want) {
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(table.sigma(golden::kTimesteps[i]) / want[i], 1, 1e-5) << golden::kTimesteps[i];
}

TEST(SigmaTable, EqualsKDiffusion) {
  expect_sigmas(stable_diffusion_table(), golden::kSigmas);
  for (size_t i = 0; i < golden::kLevels.size(); ++i)
    EXPECT_NEAR(stable_diffusion_table().timestep(golden::kLevels[i]), golden::kLevelTimesteps[i], 1e-3)
        << golden::kLevels[i];
}

TEST(SigmaTable, ZeroTerminalSnrEqualsTheReference) {
  expect_sigmas(zsnr_table(), golden::kZsnrSigmas);
  EXPECT_NEAR(zsnr_table().sigma_max(), 4518.76, 0.01);
  EXPECT_NEAR(zsnr_table().sigma_min(), stable_diffusion_table().sigma_min(), 1e-6);
}

TEST(SigmaTable, TimestepAndSigmaAreInverse) {
  for (const SigmaTable* table : {&stable_diffusion_table(), &zsnr_table()})
    for (double t : {0.0, 0.5, 1.0, 17.25, 500.0, 998.9, 999.0}) EXPECT_NEAR(table->timestep(table->sigma(t)), t, 1e-8);
}

TEST(SigmaTable, AnswersTheNearestEndOutside) {
  const SigmaTable& table = stable_diffusion_table();
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(table.sigma(-5), table.sigma_min());
  EXPECT_EQ(table.sigma(1e300), table.sigma_max());
  EXPECT_EQ(table.sigma(nan), table.sigma_min());
  EXPECT_EQ(table.timestep(0), 0);
  EXPECT_EQ(table.timestep(infinity), 999);
  EXPECT_EQ(table.timestep(nan), 0);
}

TEST(SigmaTable, RefusesDamagedProducts) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<float>> damaged = {{},           {0.5f},      {1.0f, 0.5f}, {0.9f, 0.95f},
                                                   {0.9f, -1.f}, {nan, 0.5f}, {0.9f, nan},  {2.0f, 0.1f}};
  for (const auto& alphas : damaged) {
    expect_error(ErrorCode::kBadFile, "alphas_cumprod", [&] { SigmaTable::from_alphas_cumprod(alphas); });
    zero_terminal_snr(alphas);  // gives something, which is refused as its source was or is usable
  }
}

TEST(SigmaTable, ProductsThatEndInZeroStayFinite) {
  const SigmaTable table = SigmaTable::from_alphas_cumprod(std::vector<float>{0.9f, 0.5f, 0.0f});
  EXPECT_NEAR(table.sigma_max(), 4518.76, 0.01);
}

TEST(SigmaTable, EqualNeighboursDoNoHarm) {
  const SigmaTable table = SigmaTable::from_alphas_cumprod(std::vector<float>{0.9f, 0.5f, 0.5f, 0.2f});
  EXPECT_EQ(table.timestep(1.0), 2);
  EXPECT_EQ(table.sigma(1.5), 1.0);
}

}  // namespace
}  // namespace gesso
