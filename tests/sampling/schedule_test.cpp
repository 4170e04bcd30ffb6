#include "sampling/schedule.h"

#include <gtest/gtest.h>

#include <limits>

#include "sampling/golden.h"
#include "sampling/helpers.h"

namespace gesso {
namespace {

TEST(Schedules, EqualTheReference) {
  for (const golden::ScheduleCase& want : golden::kSchedules) {
    const SigmaTable& table = want.table == "zsnr" ? zsnr_table() : stable_diffusion_table();
    const std::vector<double> sigmas = find_schedule(want.schedule).sigmas(table, want.steps);
    ASSERT_EQ(sigmas.size(), want.sigmas.size());
    for (size_t i = 0; i < sigmas.size(); ++i)
      EXPECT_NEAR(sigmas[i], want.sigmas[i], 1e-5 * want.sigmas[i]) << want.table << " " << want.schedule << " " << i;
  }
}

TEST(Schedules, AreFiniteAndFallingForAnyStepCount) {
  for (const Schedule& schedule : schedules())
    for (const SigmaTable* table : tables_for(schedule))
      for (int steps : {1, 2, 3, 11, 999, 1000, 1001, 10'000}) {
        const std::vector<double> sigmas = schedule.sigmas(*table, steps);
        EXPECT_NO_THROW(check_sigmas(sigmas)) << schedule.name << " " << steps;
        EXPECT_EQ(sigmas.back(), 0) << schedule.name;
        EXPECT_GT(sigmas.size(), 1u) << schedule.name;
        if (schedule.name == "ddim_uniform") continue;  // takes what whole strides give, from below the largest
        if (schedule.name == "beta") {
          EXPECT_LE(sigmas.size(), static_cast<size_t>(steps) + 1);
        } else {
          EXPECT_EQ(sigmas.size(), static_cast<size_t>(steps) + 1) << schedule.name;
        }
        if (schedule.models == ScheduleFor::kEvery) {
          EXPECT_NEAR(sigmas.front() / table->sigma_max(), 1, 1e-12) << schedule.name;
        }
      }
}

TEST(Schedules, RefuseModelsTheyAreNotFor) {
  expect_error(ErrorCode::kUsage, "flow models", [] { find_schedule("flux").sigmas(stable_diffusion_table(), 4); });
  expect_error(ErrorCode::kUsage, "no flow models", [] { find_schedule("ays").sigmas(flow_table(), 4); });
}

TEST(Schedules, RefuseOptionsOutOfRange) {
  const auto refuse = [](const char* text, const ScheduleOptions& options) {
    expect_error(ErrorCode::kUsage, text,
                 [&] { find_schedule("karras").sigmas(stable_diffusion_table(), 4, options); });
  };
  refuse("rho", {.rho = -1});
  refuse("alpha", {.alpha = 0});
  refuse("beta", {.beta = std::nan("")});
  refuse("tokens", {.tokens = 0});
  refuse("std", {.std = 0});
  refuse("logsnr_min", {.logsnr_min = 19});
  const std::vector<double> rising = {1, 2};
  refuse("must not rise", {.ays = rising});
}

TEST(Schedules, NoStepsIsZeroOnly) {
  for (const Schedule& schedule : schedules())
    for (int steps : {0, -1, std::numeric_limits<int>::min()})
      EXPECT_EQ(schedule.sigmas(*tables_for(schedule)[0], steps), std::vector<double>{0}) << schedule.name;
}

TEST(Schedules, AreFoundByTheNamesOfOtherPrograms) {
  EXPECT_EQ(find_schedule("Normal").name, "discrete");
  EXPECT_EQ(find_schedule("Uniform").name, "discrete");
  EXPECT_EQ(find_schedule("Karras").name, "karras");
  EXPECT_EQ(find_schedule("SGM Uniform").name, "sgm_uniform");
  expect_error(ErrorCode::kUsage, "unknown schedule 'karas' (did you mean 'karras'?)", [] { find_schedule("karas"); });
}

TEST(ParseSigmas, ReadsNumbersApartByCommasOrSpace) {
  EXPECT_EQ(parse_sigmas("14.6,7,3,0"), (std::vector<double>{14.6, 7, 3, 0}));
  EXPECT_EQ(parse_sigmas(" [14.6,  7\n3 0] "), (std::vector<double>{14.6, 7, 3, 0}));
}

TEST(ParseSigmas, RefusesWhatIsNoSchedule) {
  for (const char* text : {"", "5", "5,x", "5,4x", "5,-1", "1,2", "5,0,0", "nan,0", "inf,1", "5;4", "1e999,1"})
    expect_error(ErrorCode::kUsage, "sigmas", [&] { parse_sigmas(text); });
  std::string many = "9";
  for (int i = 0; i < 20'000; ++i) many += ",9";
  expect_error(ErrorCode::kUsage, "at most", [&] { parse_sigmas(many); });
}

TEST(CheckSigmas, NamesTheSigmaThatIsWrong) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_NO_THROW(check_sigmas(std::vector<double>{3, 2, 2, 0.5}));
  const std::vector<std::vector<double>> wrong = {{},        {1, std::nan("")}, {infinity, 1}, {1, -1},
                                                  {1, 0, 0}, {1, 2, 0},         {0, 1}};
  for (const auto& sigmas : wrong) expect_error(ErrorCode::kUsage, "sigma", [&] { check_sigmas(sigmas); });
  expect_error(ErrorCode::kUsage, "sigma 2 of 3 is 2 after 1", [] { check_sigmas(std::vector<double>{1, 2, 0}); });
}

TEST(Strength, RunsTheFloorOfItsShare) {
  EXPECT_EQ(steps_for_strength(15, 0), 0);
  EXPECT_EQ(steps_for_strength(15, 0.01), 0);
  EXPECT_EQ(steps_for_strength(15, 0.05), 0);
  EXPECT_EQ(steps_for_strength(20, 0.05), 1);
  EXPECT_EQ(steps_for_strength(20, 0.75), 15);
  EXPECT_EQ(steps_for_strength(20, 0.9999), 19);
  EXPECT_EQ(steps_for_strength(20, 1), 20);
  EXPECT_EQ(steps_for_strength(1, 0.9999), 0);
  for (int percent = 0; percent <= 100; ++percent) EXPECT_EQ(steps_for_strength(100, percent / 100.0), percent);
  EXPECT_EQ(steps_for_strength(-3, 0.5), 0);
  for (double strength : {-0.01, 1.0001, 50.0, std::nan(""), std::numeric_limits<double>::infinity()})
    expect_error(ErrorCode::kUsage, "denoising strength must be from 0 to 1",
                 [&] { steps_for_strength(20, strength); });
}

TEST(Strength, TakesTheEndOfTheSchedule) {
  const std::vector<double> sigmas = {4, 3, 2, 1, 0};
  const auto last = [&](int steps) {
    const std::span<const double> end = last_steps(sigmas, steps);
    return std::vector<double>(end.begin(), end.end());
  };
  EXPECT_EQ(last(2), (std::vector<double>{2, 1, 0}));
  EXPECT_EQ(last(0), (std::vector<double>{0}));
  EXPECT_EQ(last(4), sigmas);
  EXPECT_EQ(last(9), sigmas);
  EXPECT_EQ(last(-1), (std::vector<double>{0}));
}

TEST(StretchToTerminal, MovesTheLastSigmaAndKeepsTheFirst) {
  expect_close(stretch_to_terminal({1, 0.75, 0.5, 0}, 0.1), std::vector<double>{1, 0.55, 0.1, 0}, 1e-12);
}

TEST(StretchToTerminal, IsFiniteForOneStep) {
  EXPECT_EQ(stretch_to_terminal({1, 0}, 0.1), (std::vector<double>{1, 0}));
  EXPECT_EQ(stretch_to_terminal({0}, 0.1), (std::vector<double>{0}));
  EXPECT_EQ(stretch_to_terminal({}, 0.1), (std::vector<double>{}));
}

}  // namespace
}  // namespace gesso
