// Flow models: sigmas of [0, 1] and the prediction that goes with them.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "sampling/flow_shift.h"
#include "sampling/prediction.h"
#include "sampling/schedule.h"

namespace gesso {
namespace {

TEST(Flow, TheTableIsShiftedTime) {
  const SigmaTable table = SigmaTable::flow(3);
  EXPECT_TRUE(table.is_flow());
  EXPECT_DOUBLE_EQ(table.sigma_max(), 1);
  EXPECT_NEAR(table.sigma(499), 0.75, 1e-12);  // 3 t / (1 + 2 t) at t = 1/2
  for (const double t : {0., 0.5, 12.25, 500., 998.75}) EXPECT_NEAR(table.timestep(table.sigma(t)), t, 1e-9) << t;
  for (const double bad : {0., -1., double{INFINITY}, double{NAN}}) EXPECT_THROW(SigmaTable::flow(bad), Error) << bad;
}

TEST(Flow, SimpleSchedulesAreEvenInTime) {
  const std::vector<double> sigmas = find_schedule("simple").sigmas(SigmaTable::flow(3), 5);
  ASSERT_EQ(sigmas.size(), 6u);
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(sigmas[static_cast<size_t>(i)], shifted(3, 1 - i / 5.0), 1e-12) << i;
  EXPECT_EQ(sigmas.back(), 0);
}

}  // namespace
}  // namespace gesso
