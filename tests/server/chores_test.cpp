#include "server/chores.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace server {
namespace {

TEST(Chores, AreDoneInOrderAndTakeTheirTurn) {
  std::promise<void> done;
  std::string order;
  Chores chores;
  for (const char c : {'a', 'b', 'c'}) EXPECT_TRUE(chores.add([&order, c] { order += c; }));
  chores.add([&] { done.set_value(); });
  done.get_future().wait();
  EXPECT_EQ(order, "abc");
}

TEST(Chores, TooManyAreRefusedAndTheEndWaitsForOneAlone) {
  std::promise<void> started, go;
  std::atomic<int> ran = 0;
  int taken = 0;
  {
    Chores chores;
    chores.add([&] {
      started.set_value();
      go.get_future().wait();
    });
    started.get_future().wait();
    while (taken < 100000 && chores.add([&] { ++ran; })) ++taken;
    EXPECT_EQ(taken, 256);
    std::thread([&] { go.set_value(); }).detach();
  }
  EXPECT_LE(ran, taken);
}

TEST(Chores, TheRegularOneComesByItself) {
  std::promise<void> done;
  std::atomic<int> count = 0;
  Chores chores(
      [&] {
        if (++count == 3) done.set_value();
      },
      std::chrono::milliseconds(1));
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

}  // namespace
}  // namespace server
