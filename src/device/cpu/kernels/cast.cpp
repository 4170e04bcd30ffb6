#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/kernels/cast.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "base/threads.h"
#include "device/cpu/kernels/kernels.h"
#include "device/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gesso::cpu::HWY_NAMESPACE {
struct Half {
  uint16_t bits;
};

// Highway emulates the conversions of half precision without F16C, but truncates: then the scalar ones serve.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
HWY_INLINE V load(const Half* from) {
  const hn::Rebind<hwy::float16_t, F32> half;
  return hn::PromoteTo(F32(), hn::BitCast(half, hn::LoadU(U16(), &from->bits)));
}
HWY_INLINE void store(V v, Half* to) {
  const hn::Rebind<hwy::float16_t, F32> half;
  hn::StoreU(hn::BitCast(U16(), hn::DemoteTo(half, v)), U16(), &to->bits);
}
#else
HWY_INLINE V load(const Half* from) {
  float lanes[kLanes];
  for (size_t i = 0; i < kLanes; ++i) lanes[i] = f16_to_f32(from[i].bits);
  return hn::LoadU(F32(), lanes);
}
HWY_INLINE void store(V v, Half* to) {
  float lanes[kLanes];
  hn::StoreU(v, F32(), lanes);
  for (size_t i = 0; i < kLanes; ++i) to[i].bits = f32_to_f16(lanes[i]);
}
#endif

template <class From, class To>
HWY_INLINE void convert(const From* x, To* y, size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(load(x + i), y + i);
  if (i == count) return;
  From tail[kLanes] = {};
  To result[kLanes];
  __builtin_memcpy(tail, x + i, (count - i) * sizeof(From));
  store(load(tail), result);
  __builtin_memcpy(y + i, result, (count - i) * sizeof(To));
}

// The six conversions between different types; `from` and `to` are F32, F16 or BF16.
void convert_span(DType from, const void* x, DType to, void* y, size_t count) {
  const auto* f32 = static_cast<const float*>(x);
  const auto* f16 = static_cast<const Half*>(x);
  const auto* bf16 = static_cast<const uint16_t*>(x);
  if (from == DType::kF32 && to == DType::kF16) convert(f32, static_cast<Half*>(y), count);
  if (from == DType::kF32 && to == DType::kBF16) convert(f32, static_cast<uint16_t*>(y), count);
  if (from == DType::kF16 && to == DType::kF32) convert(f16, static_cast<float*>(y), count);
  if (from == DType::kF16 && to == DType::kBF16) convert(f16, static_cast<uint16_t*>(y), count);
  if (from == DType::kBF16 && to == DType::kF32) convert(bf16, static_cast<float*>(y), count);
  if (from == DType::kBF16 && to == DType::kF16) convert(bf16, static_cast<Half*>(y), count);
}

// Whether some element has all bits of `exponent` set. T is an unsigned type as wide as the elements.
template <class T>
bool any_with_exponent(const T* x, T exponent, size_t count) {
  const hn::ScalableTag<T> d;
  constexpr size_t kStep = hn::MaxLanes(d);
  const auto mask = hn::Set(d, exponent);
  auto found = hn::Eq(mask, hn::Zero(d));
  size_t i = 0;
  for (; i + kStep <= count; i += kStep) found = hn::Or(found, hn::Eq(hn::And(hn::LoadU(d, x + i), mask), mask));
  for (; i < count; ++i)
    if ((x[i] & exponent) == exponent) return true;
  return !hn::AllFalse(d, found);
}
bool any_nonfinite_32(const uint32_t* x, uint32_t exponent, size_t count) {
  return any_with_exponent(x, exponent, count);
}
bool any_nonfinite_16(const uint16_t* x, uint16_t exponent, size_t count) {
  return any_with_exponent(x, exponent, count);
}

}  // namespace gesso::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gesso::cpu {

HWY_EXPORT(convert_span);
HWY_EXPORT(any_nonfinite_32);
HWY_EXPORT(any_nonfinite_16);

namespace {
constexpr int64_t kGrain = 32768;
}

void cast(const Tensor& x, Tensor& y) {
  const int64_t from_size = size_of(x.dtype()), to_size = size_of(y.dtype());
  const auto convert = HWY_DYNAMIC_DISPATCH(convert_span);
  parallel_for(x.elements(), kGrain, [&](int64_t begin, int64_t end) {
    const std::byte* from = x.data<std::byte>() + begin * from_size;
    std::byte* to = y.data<std::byte>() + begin * to_size;
    const auto count = static_cast<size_t>(end - begin);
    if (x.dtype() == y.dtype())
      std::memcpy(to, from, count * static_cast<size_t>(to_size));
    else
      convert(x.dtype(), from, y.dtype(), to, count);
  });
}

bool all_finite(const Tensor& x) {
  const auto any_32 = HWY_DYNAMIC_DISPATCH(any_nonfinite_32);
  const auto any_16 = HWY_DYNAMIC_DISPATCH(any_nonfinite_16);
  const uint16_t exponent_16 = x.dtype() == DType::kF16 ? 0x7c00 : 0x7f80;
  std::atomic<bool> found{false};
  parallel_for(x.elements(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && !found.load(std::memory_order_relaxed); i += kGrain) {
      const auto count = static_cast<size_t>(std::min(kGrain, end - i));
      const bool bad = x.dtype() == DType::kF32 ? any_32(x.data<uint32_t>() + i, 0x7f800000, count)
                                                : any_16(x.data<uint16_t>() + i, exponent_16, count);
      if (bad) found.store(true, std::memory_order_relaxed);
    }
  });
  return !found;
}

}  // namespace gesso::cpu
#endif
