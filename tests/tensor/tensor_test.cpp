#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "tensor/weight.h"

namespace gesso {
namespace {

struct Tensors : testing::Test {
  CpuDevice cpu;
  Tensor counting(const Shape& shape) {
    Tensor x = cpu.empty(shape, DType::kF32);
    std::iota(x.data<float>(), x.data<float>() + x.elements(), 0.f);
    return x;
  }
};

TEST_F(Tensors, CopiesAndViewsShareMemory) {
  const Tensor x = counting({4, 3});
  const Tensor rows = x.slice(1, 3), flat = rows.reshape({6});
  EXPECT_EQ(rows.shape(), (Shape{2, 3}));
  EXPECT_EQ(flat.data<float>(), x.data<float>() + 3);
  x.data<float>()[5] = 42;
  EXPECT_EQ(flat.data<float>()[2], 42);
  EXPECT_EQ(rows.bytes(), 24);
}

TEST_F(Tensors, ViewsKeepTheMemoryAlive) {
  Tensor last;
  {
    const Tensor x = counting({2, 2});
    last = x.slice(1, 2);
  }
  EXPECT_EQ(last.data<float>()[1], 3);
}

TEST_F(Tensors, AnEmptySliceIsFineAndOneOutsideIsNot) {
  const Tensor x = counting({4, 3});
  EXPECT_EQ(x.slice(4, 4).elements(), 0);
  EXPECT_THROW(static_cast<void>(x.slice(-1, 2)), Error);
  EXPECT_THROW(static_cast<void>(x.slice(3, 2)), Error);
  EXPECT_THROW(static_cast<void>(x.slice(0, 5)), Error);
  EXPECT_THROW(static_cast<void>(counting({}).slice(0, 1)), Error);
  EXPECT_EQ(counting({0, 3}).slice(0, 0).elements(), 0);
}

TEST_F(Tensors, ReshapingKeepsTheCount) {
  EXPECT_THROW(static_cast<void>(counting({4, 3}).reshape({4, 4})), Error);
  EXPECT_EQ(counting({4, 3}).reshape({2, 1, 6}).dim(-1), 6);
}

TEST_F(Tensors, ADefaultOneIsNone) {
  EXPECT_FALSE(Tensor());
  EXPECT_TRUE(counting({1}));
}

/// A weight without values, of which only what devices keep counts.
struct Bare final : WeightData {
  using WeightData::WeightData;
  Tensor read(Device&, DType) const override { return {}; }
  std::vector<float> values() const override { return {}; }
  void read_rows(std::span<const int32_t>, Tensor&) const override {}
};

TEST(Weights, APreparedFormIsMadeOnceKeptAndReplacedWhenItDoesNotFit) {
  const Bare weight("w", {2, 2});
  int made = 0;
  const auto prepared = [&](int wanted) {
    return *weight.prepared<int>([&](int have) { return have == wanted; },
                                 [&] {
                                   ++made;
                                   return std::make_shared<int>(wanted);
                                 });
  };
  EXPECT_EQ(prepared(1), 1);
  EXPECT_EQ(prepared(1), 1);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(prepared(2), 2);
  EXPECT_EQ(made, 2);
  weight.release();
  EXPECT_EQ(prepared(2), 2);
  EXPECT_EQ(made, 3);
  // A form of another type, of another device, takes its place.
  EXPECT_EQ(*weight.prepared<double>([](double) { return true; }, [] { return std::make_shared<double>(0.5); }), 0.5);
}

TEST(Weights, WhatIsInUseOutlivesItsRelease) {
  const Bare weight("w", {1});
  const auto held = weight.prepared<int>([](int) { return true; }, [] { return std::make_shared<int>(7); });
  weight.release();
  EXPECT_EQ(*held, 7);
}

}  // namespace
}  // namespace gesso
