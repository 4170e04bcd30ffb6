// Every schedule against schedules.safetensors; tools/golden/schedules.py says whose the numbers are.
#include <gtest/gtest.h>

#include <set>

#include "sampling/flow_shift.h"
#include "sampling/golden_file.h"
#include "sampling/helpers.h"
#include "sampling/names.h"

namespace gesso {
namespace {

constexpr double kScheduleTolerance = 1e-5;  // relative; the golden is stored in f32

/// "flow.beta.20" or "beta.20": a schedule, its number of steps and its table. Others are parts of schedules or tables.
struct ScheduleCase {
  std::string schedule;
  int steps;
  bool flow;
};

std::optional<ScheduleCase> schedule_case(std::string name) {
  const bool flow = name.starts_with("flow.");
  if (flow) name = name.substr(5);
  const size_t dot = name.find('.');
  if (dot == name.npos || !match_row(schedules(), name.substr(0, dot))) return std::nullopt;
  if (name.find_first_not_of("0123456789", dot + 1) != name.npos) return std::nullopt;
  return ScheduleCase{name.substr(0, dot), std::stoi(name.substr(dot + 1)), flow};
}

TEST(ScheduleGoldens, EveryScheduleEqualsItsReference) {
  const GoldenFile golden("schedules");
  for (const auto& [name, want] : golden.all()) {
    const std::optional<ScheduleCase> c = schedule_case(name);
    if (!c) continue;
    const SigmaTable& table = c->flow ? flow_table() : stable_diffusion_table();
    const Schedule& schedule = find_schedule(c->schedule);
    ScheduleOptions options{.tokens = 1536};
    if (schedule.name == "polyexponential") options.rho = 2;
    const std::vector<double> got = schedule.sigmas(table, c->steps, options);
    ASSERT_EQ(got.size(), want.size()) << name;
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], want[i], kScheduleTolerance * want[i]) << name << " at " << i;
  }
}

TEST(ScheduleGoldens, EveryScheduleHasThem) {
  const GoldenFile golden("schedules");
  std::set<std::string, std::less<>> covered;
  for (const auto& [name, values] : golden.all())
    if (const std::optional<ScheduleCase> c = schedule_case(name)) covered.insert(c->schedule);
  for (const Schedule& schedule : schedules()) EXPECT_TRUE(covered.contains(schedule.name)) << schedule.name;
}

TEST(FlowShift, IsUndoneByItsInverse) {
  for (double shift : {0.3, 1.0, 3.0, 12.0})
    for (double t : {0.0, 0.001, 0.5, 1.0}) EXPECT_NEAR(unshifted(shift, shifted(shift, t)), t, 1e-12);
  EXPECT_EQ(shifted(3, 1), 1);
  EXPECT_NEAR(shifted(shift_of_mu(1.15), 0.5), std::exp(1.15) / (std::exp(1.15) + 1), 1e-12);
  EXPECT_NEAR(mu_for_tokens(256), 0.5, 1e-12);
  EXPECT_NEAR(mu_for_tokens(4096), 1.15, 1e-12);
}

TEST(FlowTable, TimestepAndSigmaAreInverse) {
  for (double t : {0.0, 0.5, 17.25, 500.0, 998.9, 999.0})
    EXPECT_NEAR(flow_table().timestep(flow_table().sigma(t)), t, 1e-9);
  EXPECT_EQ(flow_table().sigma_max(), 1);
  expect_error(ErrorCode::kUsage, "flow shift", [] { SigmaTable::flow(0); });
  expect_error(ErrorCode::kUsage, "rise", [] { SigmaTable::log_uniform(2, 1); });
}

}  // namespace
}  // namespace gesso
