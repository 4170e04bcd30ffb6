#include "tensor/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/error.h"

namespace gesso {
namespace {

TEST(Shape, CountsElementsAndNamesItself) {
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{2, 320, 64, 64}).elements(), 2 * 320 * 64 * 64);
  EXPECT_EQ((Shape{3, 0, 5}).elements(), 0);
  EXPECT_EQ(to_string(Shape{2, 320, 64, 64}), "[2, 320, 64, 64]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST(Shape, NegativeAxesCountFromTheEnd) {
  Shape shape{2, 3, 5};
  EXPECT_EQ(shape[-1], 5);
  EXPECT_EQ(shape[-3], 2);
  shape.set(-2, 7);
  EXPECT_EQ(shape, (Shape{2, 7, 5}));
}

TEST(Shape, EqualOnlyWithTheSameRank) {
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
}

TEST(Shape, RefusesWhatItCannotHold) {
  const std::vector<int64_t> most(Shape::kMaxRank, 1), more(Shape::kMaxRank + 1, 1);
  EXPECT_EQ(Shape(std::span(most)).rank(), Shape::kMaxRank);
  EXPECT_THROW(Shape{std::span(more)}, Error);
}

TEST(CheckedElements, RefusesOverflowAndNegativeExtents) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  using Dims = std::vector<int64_t>;
  EXPECT_EQ(checked_elements(Dims{}), 1);
  EXPECT_EQ(checked_elements(Dims{kMax, 1}), kMax);
  EXPECT_EQ(checked_elements(Dims{3037000499, 3037000499}), int64_t{3037000499} * 3037000499);
  EXPECT_EQ(checked_elements(Dims{3037000500, 3037000500}), std::nullopt);
  EXPECT_EQ(checked_elements(Dims{kMax, 2}), std::nullopt);
  EXPECT_EQ(checked_elements(Dims{kMax, kMax, kMax}), std::nullopt);
  EXPECT_EQ(checked_elements(Dims{4, -1}), std::nullopt);
}

TEST(CheckedElements, NothingTimesTooMuchIsJudgedTheSameInAnyOrder) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  using Dims = std::vector<int64_t>;
  EXPECT_EQ(checked_elements(Dims{0, kMax, kMax}), checked_elements(Dims{kMax, kMax, 0}));
}

}  // namespace
}  // namespace gesso
