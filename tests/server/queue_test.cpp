#include "server/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(FairQueue, ClientsTakeTurns) {
  FairQueue queue;
  for (const char* job : {"a1", "a2", "a3"}) queue.push("a", job);
  for (const char* job : {"b1", "b2"}) queue.push("b", job);
  queue.push("c", "c1");
  EXPECT_THAT(queue.order(), ElementsAre("a1", "b1", "c1", "a2", "b2", "a3"));
  EXPECT_EQ(queue.pop(), "a1");
  queue.push("d", "d1");  // a newcomer waits for one round, not for everybody's jobs
  EXPECT_THAT(queue.order(), ElementsAre("b1", "c1", "a2", "d1", "b2", "a3"));
  EXPECT_EQ(queue.size_of("a"), 2u);
}

TEST(FairQueue, JobsLeave) {
  FairQueue queue;
  queue.push("a", "a1");
  queue.push("b", "b1");
  EXPECT_TRUE(queue.remove("a1"));
  EXPECT_FALSE(queue.remove("a1"));
  EXPECT_THAT(queue.order(), ElementsAre("b1"));
  EXPECT_EQ(queue.pop(), "b1");
  EXPECT_EQ(queue.pop(), "");
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_THAT(queue.order(), IsEmpty());
}

}  // namespace
}  // namespace server
