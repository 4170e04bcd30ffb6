#include "sampling/extra_args.h"

#include <gtest/gtest.h>

#include <set>

#include "sampling/helpers.h"
#include "sampling/names.h"

namespace gesso {
namespace {

struct Everything {
  SamplerOptions sampler;
  ScheduleOptions schedule;
  GuidanceOptions guidance;
  void apply(std::string_view text, const char* sampler_name = "euler", const char* schedule_name = "karras",
             const char* guidance_name = "cfg") {
    apply_extra_args(text, sampler_name, schedule_name, guidance_name, {sampler, schedule, guidance});
  }
};

TEST(ExtraArgs, GoWhereTheyBelong) {
  Everything all;
  all.apply(" order = 3 , rho=5,s_noise=1.01", "uni_pc");
  EXPECT_EQ(all.sampler.order, 3);
  EXPECT_EQ(all.sampler.s_noise, 1.01);
  EXPECT_EQ(all.schedule.rho, 5);
  all.apply("guidance_schedule=7x2+1x1,apg_eta=0.5", "euler", "karras", "apg");
  EXPECT_EQ(all.guidance.schedule, (std::vector<double>{7, 7, 1}));
  EXPECT_EQ(all.guidance.apg_eta, 0.5);
}

TEST(ExtraArgs, RefuseWhatHasNoMeaning) {
  Everything all;
  expect_error(ErrorCode::kUsage, "gamma has no meaning for euler, karras and cfg; it is for euler_ge",
               [&] { all.apply("gamma=2"); });
  expect_error(ErrorCode::kUsage, "unknown extra sampling argument", [&] { all.apply("gammma=2"); });
  expect_error(ErrorCode::kUsage, "given twice", [&] { all.apply("s_noise=1,s_noise=2"); });
  for (const char* text : {"s_noise", "s_noise=", "s_noise=x", "s_noise=nan", "s_noise=1e999"})
    expect_error(ErrorCode::kUsage, "extra sampling argument", [&] { all.apply(text); });
  expect_error(ErrorCode::kUsage, "whole", [&] { all.apply("order=1.5", "lms"); });
}

TEST(ExtraArgs, EachNamesUsersThatExistAndTakesAValue) {
  for (const ExtraArg& arg : extra_args()) {
    for (std::string_view user : arg.users)
      EXPECT_TRUE(match_row(samplers(), user) || match_row(schedules(), user) || match_row(guidances(), user)) << user;
    Everything all;
    EXPECT_NO_THROW(arg.set({all.sampler, all.schedule, all.guidance}, arg.name == "guidance_schedule" ? "1x1" : "1"))
        << arg.name;
  }
}

}  // namespace
}  // namespace gesso
