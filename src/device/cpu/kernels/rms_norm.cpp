#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/kernels/rms_norm.cpp"
#include <hwy/foreach_target.h>

#include "base/threads.h"
#include "device/cpu/kernels/kernels.h"
#include "device/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gesso::cpu::HWY_NAMESPACE {
namespace {

// The sum of squares: f32 within pieces of 1024, f64 across them.
template <class T>
HWY_INLINE double sum_of_squares(const T* x, size_t c) {
  constexpr size_t kPiece = 1024;
  double total = 0;
  for (size_t piece = 0; piece < c; piece += kPiece) {
    const size_t end = HWY_MIN(piece + kPiece, c);
    V sum = set(0.f);
    for (size_t i = piece; i < end; i += kLanes) {
      const V v = load_n(x + i, HWY_MIN(kLanes, end - i));
      sum = hn::MulAdd(v, v, sum);
    }
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(F32(), sum)));
  }
  return total;
}

template <class T>
HWY_INLINE void normalise(const T* x, const float* scale, float eps, size_t rows, size_t c, T* y) {
  for (size_t row = 0; row < rows; ++row, x += c, y += c) {
    const double mean = sum_of_squares(x, c) / static_cast<double>(c);
    const V factor = set(static_cast<float>(1.0 / __builtin_sqrt(mean + static_cast<double>(eps))));
    for (size_t i = 0; i < c; i += kLanes) {
      const size_t n = HWY_MIN(kLanes, c - i);
      store_n(hn::Mul(hn::Mul(load_n(x + i, n), factor), load_n(scale + i, n)), y + i, n);
    }
  }
}

}  // namespace

void rms_norm_f32(const float* x, const float* scale, float eps, size_t rows, size_t c, float* y) {
  normalise(x, scale, eps, rows, c, y);
}
void rms_norm_bf16(const uint16_t* x, const float* scale, float eps, size_t rows, size_t c, uint16_t* y) {
  normalise(x, scale, eps, rows, c, y);
}

}  // namespace gesso::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gesso::cpu {

HWY_EXPORT(rms_norm_f32);
HWY_EXPORT(rms_norm_bf16);

namespace {

template <class T>
void rms_norm_with(void (*run)(const T*, const float*, float, size_t, size_t, T*), const Tensor& x, const Tensor& scale,
                   float eps, Tensor& y) {
  const int64_t c = x.dim(-1);
  if (c == 0) return;
  parallel_for(x.elements() / c, 16384 / c, [&](int64_t begin, int64_t end) {
    run(x.data<T>() + begin * c, scale.data<float>(), eps, static_cast<size_t>(end - begin), static_cast<size_t>(c),
        y.data<T>() + begin * c);
  });
}

}  // namespace

void rms_norm(const Tensor& x, const Tensor& scale, float eps, Tensor& y) {
  if (x.dtype() == DType::kBF16)
    rms_norm_with(HWY_DYNAMIC_DISPATCH(rms_norm_bf16), x, scale, eps, y);
  else
    rms_norm_with(HWY_DYNAMIC_DISPATCH(rms_norm_f32), x, scale, eps, y);
}

}  // namespace gesso::cpu
#endif
