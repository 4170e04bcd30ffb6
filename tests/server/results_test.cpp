#include "server/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api_error.h"
#include "server/job_json.h"
#include "server/progress.h"
#include "temp_folder.h"

namespace server {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::Not;

TEST(ProgressMeter, CountsAllPicturesOfAJob) {
  ProgressMeter meter(2);
  const auto event = [&](gesso_event_kind kind, const char* stage, int step, int steps) {
    return meter.update({kind, 1, stage, step, steps, 2.0, 0, "", nullptr, 0, 0});
  };
  EXPECT_FALSE(event(GESSO_EVENT_MESSAGE, "", 0, 0));
  EXPECT_TRUE(event(GESSO_EVENT_STAGE, "denoise", 0, 4));
  EXPECT_LT(meter.progress().eta, 0) << "nothing is known before the first step";
  event(GESSO_EVENT_STEP, "denoise", 1, 4);
  EXPECT_DOUBLE_EQ(meter.progress().eta, 2.0 * 7);
  event(GESSO_EVENT_STEP, "denoise", 4, 4);
  const double half = meter.progress().fraction;
  event(GESSO_EVENT_STAGE, "denoise", 0, 4);
  EXPECT_DOUBLE_EQ(meter.progress().fraction, half);
  event(GESSO_EVENT_STEP, "denoise", 4, 4);
  EXPECT_DOUBLE_EQ(meter.progress().fraction, 2 * half);
  EXPECT_DOUBLE_EQ(meter.progress().eta, 0);
}

TEST(PublicRequest, HasNoPaths) {
  const std::string text =
      public_request(R"({"model":"/home/me/a.safetensors","prompt":"x"})", {{"model", "a.safetensors"}});
  EXPECT_THAT(text, HasSubstr("\"a.safetensors\""));
  EXPECT_THAT(text, Not(HasSubstr("/home")));
}

TEST(ResultStore, KeepsJobsAcrossRuns) {
  const gesso::testing::TempFolder folder;
  const PictureFiles pictures = {{.bytes = "first"}, {.bytes = "second"}};
  {
    ResultStore store(folder / "out");
    EXPECT_THROW(ResultStore(folder / "out"), std::runtime_error) << "one server owns a folder";
    store.save("20260101-a", "{}", pictures, "jpg");
    store.save("20260102-b", "{}", {}, "png");
  }
  fs::create_directory(folder / "out" / ".unfinished-c");
  ResultStore store(folder / "out");
  EXPECT_FALSE(fs::exists(folder / "out" / ".unfinished-c"));
  EXPECT_THAT(store.list(9, ""), testing::ElementsAre("20260102-b", "20260101-a"));
  EXPECT_THAT(store.list(9, "20260102-b"), testing::ElementsAre("20260101-a"));
  EXPECT_EQ(store.picture("20260101-a", 1)->bytes, "second");
  EXPECT_EQ(store.picture("20260101-a", 1)->format, "jpg");
  EXPECT_FALSE(store.picture("20260101-a", 2));
  for (const char* id : {"", ".", "..", ".lock", "../out/20260101-a", "20260101-a/", "none"}) {
    EXPECT_FALSE(store.job(id)) << id;
    EXPECT_FALSE(store.remove(id)) << id;
  }
  EXPECT_TRUE(store.remove("20260101-a"));
  EXPECT_FALSE(fs::exists(folder / "out" / "20260101-a"));
  EXPECT_EQ(store.count(), 1u);
}

TEST(ResultStore, LeavesNothingOfWhatFails) {
  const gesso::testing::TempFolder folder;
  ResultStore store(folder / "out");
  fs::create_directories(folder / "out" / "job" / "in the way");
  EXPECT_THROW(store.save("job", "{}", {}, "png"), std::runtime_error);
  EXPECT_FALSE(fs::exists(folder / "out" / ".unfinished-job"));
  EXPECT_EQ(store.count(), 0u);
}

TEST(JobId, IsNewEachTime) {
  EXPECT_NE(new_job_id(), new_job_id());
  EXPECT_EQ(new_job_id().size(), std::string("20260101-000000-000-").size() + 24);
}

}  // namespace
}  // namespace server
