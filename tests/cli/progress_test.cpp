#include "progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cli {
namespace {

gesso_event step(int done, int steps) {
  return {GESSO_EVENT_STEP, 1, "denoise", done, steps, 1.314, 13.1, "", nullptr, 0, 0};
}

TEST(ProgressLine, ShowsStageBarStepTimeAndEta) {
  EXPECT_EQ(progress_line(step(10, 20), 61, true), "denoise   ██████████░░░░░░░░░░  10/20  1.31 s/step  ETA 13 s");
  EXPECT_EQ(progress_line(step(10, 20), 51, false), "denoise   #####.....  10/20  1.31 s/step  ETA 13 s");
}

TEST(ProgressLine, NeverFillsTheTerminalsWidth) {
  for (int columns = 45; columns < 200; ++columns)
    EXPECT_LT(progress_line(step(20, 20), columns, false).size(), static_cast<size_t>(columns));
  EXPECT_THAT(progress_line(step(1, 20), 10, true), testing::Not(testing::HasSubstr("█")));
}

TEST(ProgressLine, AStageWithoutStepsIsItsName) {
  EXPECT_THAT(progress_line({GESSO_EVENT_STAGE, 1, "load", 0, 0, 0, 0, "", nullptr, 0, 0}, 80, true),
              testing::StartsWith("load"));
}

TEST(Progress, AMessageThatWasAskedForShowsWithoutVerbosity) {
  const auto shown = [](bool verbose, const char* stage) {
    ::testing::internal::CaptureStderr();
    Progress(verbose).show({GESSO_EVENT_MESSAGE, 1, stage, 0, 0, 0, 0, "words", nullptr, 0, 0});
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(shown(false, "profile"), "words\n");
  EXPECT_EQ(shown(false, ""), "");
  EXPECT_EQ(shown(true, ""), "words\n");
}

TEST(Duration, IsReadable) {
  EXPECT_EQ(duration(0.421), "0.42 s");
  EXPECT_EQ(duration(12.6), "13 s");
  EXPECT_EQ(duration(125), "2 min 05 s");
  EXPECT_EQ(duration(3725), "1 h 02 min");
  EXPECT_EQ(duration(-1), "?");
}

}  // namespace
}  // namespace cli
