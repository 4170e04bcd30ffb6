#include "weights/prefetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "weights/pattern_weight.h"

namespace gesso {
namespace {

/// A weight of 1024 elements that counts how often it was asked for.
struct AskedWeight : PatternWeight {
  explicit AskedWeight(std::string name) : PatternWeight(std::move(name), Shape{32, 32}) {}
  void will_need() const override { ++asked; }
  mutable std::atomic<int> asked = 0;
};

struct PrefetcherTest : ::testing::Test {
  std::vector<std::shared_ptr<AskedWeight>> weights;
  std::vector<const WeightData*> order;
  PrefetcherTest() {
    for (int i = 0; i < 6; ++i) {
      weights.push_back(std::make_shared<AskedWeight>("w" + std::to_string(i)));
      order.push_back(weights.back().get());
    }
  }
  void use(Prefetcher& prefetcher, size_t i) {
    const std::array<Weight, 1> used{weights[i]};
    prefetcher.observe({.op = "linear", .weights = used});
  }
  std::vector<int> asked() const {
    std::vector<int> counts;
    for (const auto& w : weights) counts.push_back(w->asked);
    return counts;
  }
  /// Waits for what another thread does, ten seconds at most.
  void expect_asked(const std::vector<int>& wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (asked() != wanted && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(asked(), wanted);
  }
};

TEST_F(PrefetcherTest, AsksForWhatComesNextAsFarAsIsAllowed) {
  Prefetcher prefetcher(order, 2 * 2048);  // two weights of f16
  expect_asked({1, 1, 0, 0, 0, 0});
  use(prefetcher, 0);
  expect_asked({1, 1, 1, 0, 0, 0});
  use(prefetcher, 1);
  use(prefetcher, 2);
  expect_asked({1, 1, 1, 1, 1, 0});
  use(prefetcher, 3);
  use(prefetcher, 4);
  expect_asked({2, 1, 1, 1, 1, 1});  // the next evaluation begins with the first again
}

TEST_F(PrefetcherTest, GoesOnFromWhereverTheWorkIs) {
  Prefetcher prefetcher(order, 2048);
  expect_asked({1, 0, 0, 0, 0, 0});
  use(prefetcher, 4);  // as if the first ones had not been needed
  expect_asked({1, 0, 0, 0, 0, 1});
  use(prefetcher, 0);  // and a new evaluation
  expect_asked({1, 1, 0, 0, 0, 1});
}

TEST_F(PrefetcherTest, ALargeWeightIsAskedForAlone) {
  Prefetcher prefetcher(order, 1);
  expect_asked({1, 0, 0, 0, 0, 0});
  use(prefetcher, 0);
  expect_asked({1, 1, 0, 0, 0, 0});
}

TEST_F(PrefetcherTest, NothingToAskForIsFine) {
  Prefetcher prefetcher({}, 1);
  use(prefetcher, 0);
  EXPECT_EQ(asked(), std::vector<int>(6));
}

}  // namespace
}  // namespace gesso
