#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/kernels/rope.cpp"
#include <hwy/foreach_target.h>

#include "base/threads.h"
#include "device/cpu/kernels/kernels.h"
#include "device/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gesso::cpu::HWY_NAMESPACE {
namespace {

// One head of one token: y[i] = x[i] cos[i] + x[i ^ 1] sin[i].
template <class T>
HWY_INLINE void rotate(const T* x, const float* cosines, const float* sines, size_t d, T* y) {
#if HWY_TARGET == HWY_SCALAR
  for (size_t i = 0; i < d; ++i)
    store(hn::MulAdd(load(x + i), load(cosines + i), hn::Mul(load(x + (i ^ 1)), load(sines + i))), y + i);
#else
  for (size_t i = 0; i < d; i += kLanes) {
    const size_t n = HWY_MIN(kLanes, d - i);
    const V v = load_n(x + i, n);
    const V product = hn::Mul(hn::Shuffle2301(v), load_n(sines + i, n));
    store_n(hn::MulAdd(v, load_n(cosines + i, n), product), y + i, n);
  }
#endif
}

// `tokens` of one row each of heads * d elements; table [tokens][2][d].
template <class T>
HWY_INLINE void rotate_tokens(const T* x, const float* table, size_t tokens, size_t heads, size_t d, T* y) {
  for (size_t t = 0; t < tokens; ++t, table += 2 * d)
    for (size_t head = 0; head < heads; ++head, x += d, y += d) rotate(x, table, table + d, d, y);
}

}  // namespace

void rope_f32(const float* x, const float* table, size_t tokens, size_t heads, size_t d, float* y) {
  rotate_tokens(x, table, tokens, heads, d, y);
}
void rope_bf16(const uint16_t* x, const float* table, size_t tokens, size_t heads, size_t d, uint16_t* y) {
  rotate_tokens(x, table, tokens, heads, d, y);
}

}  // namespace gesso::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gesso::cpu {

HWY_EXPORT(rope_f32);
HWY_EXPORT(rope_bf16);

namespace {

template <class T>
void rope_with(void (*run)(const T*, const float*, size_t, size_t, size_t, T*), const Tensor& x, const Tensor& table,
               Tensor& y) {
  const int64_t tokens = x.dim(1), row = x.dim(2), d = table.dim(2);
  if (y.elements() == 0) return;
  for (int64_t image = 0; image < x.dim(0); ++image)
    parallel_for(tokens, 16384 / row, [&](int64_t begin, int64_t end) {
      const int64_t at = (image * tokens + begin) * row;
      run(x.data<T>() + at, table.data<float>() + begin * 2 * d, static_cast<size_t>(end - begin),
          static_cast<size_t>(row / d), static_cast<size_t>(d), y.data<T>() + at);
    });
}

}  // namespace

void rope(const Tensor& x, const Tensor& table, Tensor& y) {
  if (x.dtype() == DType::kBF16)
    rope_with(HWY_DYNAMIC_DISPATCH(rope_bf16), x, table, y);
  else
    rope_with(HWY_DYNAMIC_DISPATCH(rope_f32), x, table, y);
}

}  // namespace gesso::cpu
#endif
