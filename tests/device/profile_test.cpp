#include "device/profile.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "device/cpu/cpu_device.h"
#include "device/cpu/measure.h"
#include "device/kernels.h"

namespace gesso {
namespace {

/// An operation that takes `milliseconds`, after `inside` has run within it.
template <typename F>
void operation(CpuDevice& device, const char* op, const Tensor& x, int milliseconds, const F& inside) {
  device.run({.op = op, .flops = 1000, .bytes = x.bytes(), .x = &x}, [&](const Kernels&) {
    inside();
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  });
}

TEST(Profile, BooksOperationsByKindAndShapeWithoutWhatRanInside) {
  CpuDevice device;
  Profile profile;
  const Tensor a = device.empty({2, 3}, DType::kF32), b = device.empty({4}, DType::kBF16);
  const auto nothing = [] {};
  operation(device, "before", a, 0, nothing);
  device.set_profile(&profile);
  operation(device, "outer", a, 2, [&] { operation(device, "inner", b, 20, nothing); });
  operation(device, "outer", a, 2, nothing);
  device.set_profile(nullptr);
  operation(device, "after", a, 0, nothing);

  const auto entries = profile.entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].op, "inner");
  EXPECT_EQ(entries[0].operands, "BF16 [4]");
  EXPECT_EQ(entries[1].op, "outer");
  EXPECT_EQ(entries[1].operands, "F32 [2, 3]");
  EXPECT_EQ(entries[1].calls, 2);
  EXPECT_EQ(entries[1].flops, 2000);
  EXPECT_EQ(entries[1].bytes, 48);
  EXPECT_GE(entries[0].seconds, 0.02);
  EXPECT_GE(entries[1].seconds, 0.004);
  EXPECT_DOUBLE_EQ(profile.seconds(), entries[0].seconds + entries[1].seconds);
}

TEST(Profile, TableAndTraceNameThem) {
  CpuDevice device;
  Profile profile;
  const Tensor a = device.empty({2, 3}, DType::kF32);
  device.set_profile(&profile);
  operation(device, "outer", a, 1, [] {});
  device.set_profile(nullptr);
  const std::string table = profile.table({.f32 = 1e9, .copy = 1e9}, 10);
  EXPECT_NE(table.find("100.0%       1"), std::string::npos) << table;
  EXPECT_NE(table.find("outer F32 [2, 3]"), std::string::npos) << table;
  const std::string trace = profile.chrome_trace();
  EXPECT_NE(trace.find(R"("name":"outer","cat":"op","ph":"X")"), std::string::npos) << trace;
  EXPECT_NE(trace.find(R"("operands":"F32 [2, 3]")"), std::string::npos) << trace;
}

TEST(Profile, LimitIsWhatTakesLonger) {
  const MachineLimits limits{.f32 = 100, .bf16 = 400, .copy = 10};
  EXPECT_DOUBLE_EQ(limits.seconds(DType::kF32, 200, 10), 2);
  EXPECT_DOUBLE_EQ(limits.seconds(DType::kF32, 200, 40), 4);
  EXPECT_DOUBLE_EQ(limits.seconds(DType::kBF16, 200, 1), 0.5);
  EXPECT_DOUBLE_EQ((MachineLimits{.f32 = 100, .copy = 10}.seconds(DType::kBF16, 200, 1)), 2);
}

TEST(MeasureLimits, EveryMachineHasSome) {
  const MachineLimits limits = measure_limits();
  EXPECT_GT(limits.f32, 1e8);
  EXPECT_GT(limits.copy, 1e7);
  EXPECT_EQ(limits.bf16 > 0, limits.int8 > 0);
}

}  // namespace
}  // namespace gesso
