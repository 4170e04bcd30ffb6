#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/kernels/layer_norm.cpp"
#include <hwy/foreach_target.h>

#include "base/threads.h"
#include "device/cpu/kernels/kernels.h"
#include "device/cpu/kernels/scratch.h"
#include "device/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gesso::cpu::HWY_NAMESPACE {
namespace {

struct Sums {
  double first = 0, second = 0;  // of (x - pivot) and its square
};

// Sums over x[0, c): f32 within pieces of 1024, f64 across them, so that no length loses accuracy.
template <class T>
HWY_INLINE Sums sums_about(V pivot, const T* x, size_t c) {
  constexpr size_t kPiece = 1024;  // a multiple of 2 kLanes
  Sums total;
  for (size_t piece = 0; piece < c; piece += kPiece) {
    const size_t end = HWY_MIN(piece + kPiece, c);
    V first0 = set(0.f), first1 = first0, second0 = first0, second1 = first0;
    size_t i = piece;
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      const V d0 = hn::Sub(load(x + i), pivot), d1 = hn::Sub(load(x + i + kLanes), pivot);
      first0 = hn::Add(first0, d0);
      first1 = hn::Add(first1, d1);
      second0 = hn::MulAdd(d0, d0, second0);
      second1 = hn::MulAdd(d1, d1, second1);
    }
    for (; i < end; i += kLanes) {
      const size_t n = HWY_MIN(kLanes, end - i);
      const V d = hn::IfThenElseZero(hn::FirstN(F32(), n), hn::Sub(load_n(x + i, n), pivot));
      first0 = hn::Add(first0, d);
      second0 = hn::MulAdd(d, d, second0);
    }
    total.first += static_cast<double>(hn::GetLane(hn::SumOfLanes(F32(), hn::Add(first0, first1))));
    total.second += static_cast<double>(hn::GetLane(hn::SumOfLanes(F32(), hn::Add(second0, second1))));
  }
  return total;
}

template <class T>
HWY_INLINE void normalise_row(const T* x, const float* scale, const float* bias, float eps, size_t c, T* y) {
  const double count = static_cast<double>(c);
  // A first mean to f32; the sums about it then give the variance, and what that mean was off, without cancellation.
  const V mean = set(static_cast<float>(sums_about(set(0.f), x, c).first / count));
  const Sums about = sums_about(mean, x, c);
  const double off = about.first / count, variance = HWY_MAX(about.second / count - off * off, 0.0);
  const double inverse = 1.0 / __builtin_sqrt(variance + static_cast<double>(eps));
  const V factor = set(static_cast<float>(inverse)), shift = set(static_cast<float>(-off * inverse));
  size_t i = 0;
  for (; i + kLanes <= c; i += kLanes) {
    const V unit = hn::MulAdd(hn::Sub(load(x + i), mean), factor, shift);
    store(hn::MulAdd(unit, load(scale + i), load(bias + i)), y + i);
  }
  if (i < c) {
    const size_t n = c - i;
    const V unit = hn::MulAdd(hn::Sub(load_n(x + i, n), mean), factor, shift);
    store_n(hn::MulAdd(unit, load_n(scale + i, n), load_n(bias + i, n)), y + i, n);
  }
}

template <class T>
HWY_INLINE void normalise_rows(const T* x, const float* scale, const float* bias, float eps, size_t rows, size_t c,
                               T* y) {
  for (size_t row = 0; row < rows; ++row) normalise_row(x + row * c, scale, bias, eps, c, y + row * c);
}

}  // namespace

void layer_norm_f32(const float* x, const float* scale, const float* bias, float eps, size_t rows, size_t c, float* y) {
  normalise_rows(x, scale, bias, eps, rows, c, y);
}
void layer_norm_bf16(const uint16_t* x, const float* scale, const float* bias, float eps, size_t rows, size_t c,
                     uint16_t* y) {
  normalise_rows(x, scale, bias, eps, rows, c, y);
}

}  // namespace gesso::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gesso::cpu {

HWY_EXPORT(layer_norm_f32);
HWY_EXPORT(layer_norm_bf16);

namespace {

template <class T>
void rows_with(void (*run)(const T*, const float*, const float*, float, size_t, size_t, T*), const T* x,
               const float* scale, const float* bias, float eps, int64_t rows, int64_t c, T* y) {
  parallel_for(rows, 16384 / c, [&](int64_t begin, int64_t end) {
    run(x + begin * c, scale, bias, eps, static_cast<size_t>(end - begin), static_cast<size_t>(c), y + begin * c);
  });
}

}  // namespace

void modulated_norm(const Tensor& x, const Tensor& shift, const Tensor& scale, float eps, Tensor& y) {
  if (x.elements() == 0) return;
  const int64_t images = x.dim(0), c = x.dim(-1), rows = x.elements() / (images * c);
  auto* factor = static_cast<float*>(scratch(Scratch::kOperation, sizeof(float) * static_cast<size_t>(2 * c)));
  float* offset = factor + c;
  for (int64_t image = 0; image < images; ++image) {
    convert_to_f32(scale.dtype(), scale.data<std::byte>() + image * c * size_of(scale.dtype()), factor, c);
    convert_to_f32(shift.dtype(), shift.data<std::byte>() + image * c * size_of(shift.dtype()), offset, c);
    for (int64_t i = 0; i < c; ++i) factor[i] += 1.f;
    const int64_t first = image * rows * c;
    if (x.dtype() == DType::kBF16)
      rows_with(HWY_DYNAMIC_DISPATCH(layer_norm_bf16), x.data<uint16_t>() + first, factor, offset, eps, rows, c,
                y.data<uint16_t>() + first);
    else
      rows_with(HWY_DYNAMIC_DISPATCH(layer_norm_f32), x.data<float>() + first, factor, offset, eps, rows, c,
                y.data<float>() + first);
  }
}

void layer_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, float eps, Tensor& y) {
  const int64_t c = x.dim(-1);
  if (x.elements() == 0) return;
  if (x.dtype() == DType::kBF16)
    rows_with(HWY_DYNAMIC_DISPATCH(layer_norm_bf16), x.data<uint16_t>(), scale.data<float>(), bias.data<float>(), eps,
              x.elements() / c, c, y.data<uint16_t>());
  else
    rows_with(HWY_DYNAMIC_DISPATCH(layer_norm_f32), x.data<float>(), scale.data<float>(), bias.data<float>(), eps,
              x.elements() / c, c, y.data<float>());
}

}  // namespace gesso::cpu
#endif
