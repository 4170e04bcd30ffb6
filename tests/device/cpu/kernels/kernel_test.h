#pragma once
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/threads.h"
#include "device/cpu/kernels/kernels.h"
#include "device/device.h"

/// What the kernel tests share: tensors of plain memory, and the check that a kernel agrees with its plain twin in
/// double precision at every instruction set level and gives the same bits whatever the thread count.
namespace gesso::test {

class HostDevice : public Device {
 public:
  std::string_view name() const override { return "host"; }
  std::shared_ptr<Storage> allocate(int64_t bytes) override {
    // exact, so that the address sanitizer sees a byte too far; filled, so that an element left out is NaN
    auto* data = static_cast<std::byte*>(std::malloc(static_cast<size_t>(bytes > 0 ? bytes : 1)));
    std::memset(data, 0xff, static_cast<size_t>(bytes));
    return std::make_shared<Owned>(*this, data, bytes);
  }

 private:
  struct Owned : Storage {
    using Storage::Storage;
    ~Owned() override { std::free(data()); }
  };
  const Kernels* begin(const OpCost&) override { return nullptr; }
};

inline HostDevice& host() {
  static HostDevice device;
  return device;
}

inline Tensor tensor(const Shape& shape, DType dtype, const std::vector<float>& values) {
  Tensor t = host().empty(shape, dtype);
  convert_from_f32(dtype, values.data(), t.raw(), t.elements());
  return t;
}

inline std::vector<double> values(const Tensor& t) {
  std::vector<float> f(static_cast<size_t>(t.elements()));
  convert_to_f32(t.dtype(), t.raw(), f.data(), t.elements());
  return {f.begin(), f.end()};
}

/// Normally distributed values around `mean`.
inline Tensor random_tensor(const Shape& shape, DType dtype, unsigned seed, float mean = 0, float deviation = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(mean, deviation);
  std::vector<float> v(static_cast<size_t>(shape.elements()));
  for (float& x : v) x = normal(engine);
  return tensor(shape, dtype, v);
}

inline std::string bytes(const Tensor& t) {
  return {static_cast<const char*>(t.raw()), static_cast<size_t>(t.bytes())};
}

/// Runs body(name) with the kernels of each instruction set that was compiled and that this machine has, the baseline
/// included.
inline void for_each_isa(const std::function<void(const char*)>& body) {
  constexpr int64_t kBaseline = HWY_SCALAR | HWY_EMU128;
  const int64_t here = (hwy::SupportedTargets() & HWY_TARGETS) | kBaseline;
  for (const int64_t target : {int64_t{HWY_AVX3}, int64_t{HWY_AVX2}, int64_t{HWY_SSE4}, kBaseline}) {
    if (!(here & target)) continue;
    hwy::SetSupportedTargetsForTest(target);
    body(target == kBaseline ? "baseline" : hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(0);
  }
}

/// |got - want| <= relative |want| + absolute, with bf16's own rounding on top where the result is bf16.
inline void expect_near(const Tensor& got, const std::vector<double>& want, double relative, double absolute,
                        const std::string& where) {
  if (got.dtype() == DType::kBF16) relative += 0x1p-8;
  const std::vector<double> g = values(got);
  ASSERT_EQ(g.size(), want.size()) << where;
  for (size_t i = 0; i < g.size(); ++i)
    ASSERT_LE(std::abs(g[i] - want[i]), relative * std::abs(want[i]) + absolute)
        << where << ": element " << i << " is " << g[i] << ", want " << want[i];
}

/// `compute` at every level and with 1 and 3 threads: near `want`, and bit-equal across threads.
inline void check(const std::function<Tensor()>& compute, const std::vector<double>& want, double relative,
                  double absolute) {
  for_each_isa([&](const char* isa) {
    set_thread_count(1);
    const Tensor one = compute();
    set_thread_count(3);
    const Tensor three = compute();
    set_thread_count(0);
    expect_near(one, want, relative, absolute, isa);
    EXPECT_EQ(bytes(one), bytes(three)) << isa << ": the result depends on the thread count";
  });
}

}  // namespace gesso::test
