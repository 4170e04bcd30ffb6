#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/kernels/elementwise.cpp"
#include <hwy/foreach_target.h>

#include "base/threads.h"
#include "device/cpu/kernels/kernels.h"
#include "device/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gesso::cpu::HWY_NAMESPACE {
namespace {

struct Silu {
  HWY_INLINE V operator()(V x) const { return silu(x); }
};
struct Gelu {
  HWY_INLINE V operator()(V x) const { return gelu(x); }
};
struct GeluTanh {
  HWY_INLINE V operator()(V x) const { return gelu_tanh(x); }
};
struct QuickGelu {
  HWY_INLINE V operator()(V x) const { return quick_gelu(x); }
};
struct Relu {
  // not Max(x, 0), which may turn NaN into 0
  HWY_INLINE V operator()(V x) const { return hn::IfThenElse(hn::Lt(x, set(0.f)), set(0.f), x); }
};
struct LeakyRelu {
  HWY_INLINE V operator()(V x) const { return hn::IfThenElse(hn::Lt(x, set(0.f)), hn::Mul(x, set(0.2f)), x); }
};
struct SoftClamp3 {
  HWY_INLINE V operator()(V x) const { return soft_clamp_3(x); }
};
struct Identity {
  HWY_INLINE V operator()(V x) const { return x; }
};
struct Sum {
  HWY_INLINE V operator()(V a, V b) const { return hn::Add(a, b); }
};
struct Product {
  HWY_INLINE V operator()(V a, V b) const { return hn::Mul(a, b); }
};
struct ScaledSum {
  V scale;
  HWY_INLINE V operator()(V x, V residual) const { return hn::MulAdd(x, scale, residual); }
};
struct TimesGelu {
  HWY_INLINE V operator()(V a, V gate) const { return hn::Mul(a, gelu(gate)); }
};

template <class Function, class T>
HWY_INLINE void map(const Function& f, const T* x, T* y, size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(f(load(x + i)), y + i);
  if (i < count) store_n(f(load_n(x + i, count - i)), y + i, count - i);
}

template <class Function, class T>
HWY_INLINE void map(const Function& f, const T* a, const T* b, T* y, size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(f(load(a + i), load(b + i)), y + i);
  if (i < count) store_n(f(load_n(a + i, count - i), load_n(b + i, count - i)), y + i, count - i);
}

}  // namespace

template <class T>
void activate_span(const T* x, Activation a, T* y, size_t count) {
  switch (a) {
    case Activation::kNone:
      return map(Identity(), x, y, count);
    case Activation::kSilu:
      return map(Silu(), x, y, count);
    case Activation::kGelu:
      return map(Gelu(), x, y, count);
    case Activation::kGeluTanh:
      return map(GeluTanh(), x, y, count);
    case Activation::kQuickGelu:
      return map(QuickGelu(), x, y, count);
    case Activation::kRelu:
      return map(Relu(), x, y, count);
    case Activation::kSoftClamp3:
      return map(SoftClamp3(), x, y, count);
    case Activation::kLeakyRelu:
      return map(LeakyRelu(), x, y, count);
  }
}
void activate_f32(const float* x, Activation a, float* y, size_t count) {
  activate_span(x, a, y, count);
}
void activate_bf16(const uint16_t* x, Activation a, uint16_t* y, size_t count) {
  activate_span(x, a, y, count);
}

void add_f32(const float* a, const float* b, float* y, size_t count) {
  map(Sum(), a, b, y, count);
}
void add_bf16(const uint16_t* a, const uint16_t* b, uint16_t* y, size_t count) {
  map(Sum(), a, b, y, count);
}

void multiply_f32(const float* a, const float* b, float* y, size_t count) {
  map(Product(), a, b, y, count);
}
void multiply_bf16(const uint16_t* a, const uint16_t* b, uint16_t* y, size_t count) {
  map(Product(), a, b, y, count);
}

void scaled_add_f32(const float* x, float scale, const float* residual, float* y, size_t count) {
  map(ScaledSum{set(scale)}, x, residual, y, count);
}
void scaled_add_bf16(const uint16_t* x, float scale, const uint16_t* residual, uint16_t* y, size_t count) {
  map(ScaledSum{set(scale)}, x, residual, y, count);
}

template <class T>
void prelu_rows(const T* x, const float* slope, size_t rows, size_t c, T* y) {
  for (size_t row = 0; row < rows; ++row, x += c, y += c)
    for (size_t i = 0; i < c; i += kLanes) {
      const size_t n = HWY_MIN(kLanes, c - i);
      const V v = load_n(x + i, n);
      store_n(hn::IfThenElse(hn::Lt(v, set(0.f)), hn::Mul(v, load_n(slope + i, n)), v), y + i, n);
    }
}
void prelu_f32(const float* x, const float* slope, size_t rows, size_t c, float* y) {
  prelu_rows(x, slope, rows, c, y);
}
void prelu_bf16(const uint16_t* x, const float* slope, size_t rows, size_t c, uint16_t* y) {
  prelu_rows(x, slope, rows, c, y);
}

template <class T>
void gated_rows(const T* x, const T* gate, const T* residual, size_t rows, size_t c, T* y) {
  for (size_t row = 0; row < rows; ++row, x += c, residual += c, y += c)
    for (size_t i = 0; i < c; i += kLanes) {
      const size_t n = HWY_MIN(kLanes, c - i);
      store_n(hn::MulAdd(load_n(x + i, n), load_n(gate + i, n), load_n(residual + i, n)), y + i, n);
    }
}
void gated_add_f32(const float* x, const float* gate, const float* residual, size_t rows, size_t c, float* y) {
  gated_rows(x, gate, residual, rows, c, y);
}
void gated_add_bf16(const uint16_t* x, const uint16_t* gate, const uint16_t* residual, size_t rows, size_t c,
                    uint16_t* y) {
  gated_rows(x, gate, residual, rows, c, y);
}

template <class T>
void geglu_rows(const T* x, size_t rows, size_t c, T* y) {
  for (size_t row = 0; row < rows; ++row) map(TimesGelu(), x + 2 * row * c, x + (2 * row + 1) * c, y + row * c, c);
}
void geglu_f32(const float* x, size_t rows, size_t c, float* y) {
  geglu_rows(x, rows, c, y);
}
void geglu_bf16(const uint16_t* x, size_t rows, size_t c, uint16_t* y) {
  geglu_rows(x, rows, c, y);
}

}  // namespace gesso::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gesso::cpu {

HWY_EXPORT(activate_f32);
HWY_EXPORT(activate_bf16);
HWY_EXPORT(add_f32);
HWY_EXPORT(add_bf16);
HWY_EXPORT(multiply_f32);
HWY_EXPORT(multiply_bf16);
HWY_EXPORT(scaled_add_f32);
HWY_EXPORT(scaled_add_bf16);
HWY_EXPORT(prelu_f32);
HWY_EXPORT(prelu_bf16);
HWY_EXPORT(gated_add_f32);
HWY_EXPORT(gated_add_bf16);
HWY_EXPORT(geglu_f32);
HWY_EXPORT(geglu_bf16);

namespace {

constexpr int64_t kGrain = 16384;  // elements worth a thread's while

template <class T>
void activate_with(void (*run)(const T*, Activation, T*, size_t), const Tensor& x, Activation a, Tensor& y) {
  parallel_for(x.elements(), kGrain, [&](int64_t begin, int64_t end) {
    run(x.data<T>() + begin, a, y.data<T>() + begin, static_cast<size_t>(end - begin));
  });
}

template <class T>
void binary_with(void (*run)(const T*, const T*, T*, size_t), const Tensor& a, const Tensor& b, Tensor& y) {
  parallel_for(a.elements(), kGrain, [&](int64_t begin, int64_t end) {
    run(a.data<T>() + begin, b.data<T>() + begin, y.data<T>() + begin, static_cast<size_t>(end - begin));
  });
}

template <class T>
void scaled_add_with(void (*run)(const T*, float, const T*, T*, size_t), const Tensor& x, float scale,
                     const Tensor& residual, Tensor& y) {
  parallel_for(x.elements(), kGrain, [&](int64_t begin, int64_t end) {
    run(x.data<T>() + begin, scale, residual.data<T>() + begin, y.data<T>() + begin, static_cast<size_t>(end - begin));
  });
}

template <class T>
void prelu_with(void (*run)(const T*, const float*, size_t, size_t, T*), const Tensor& x, const Tensor& slope,
                Tensor& y) {
  const int64_t c = x.dim(-1);
  if (c == 0) return;
  parallel_for(x.elements() / c, kGrain / c, [&](int64_t begin, int64_t end) {
    run(x.data<T>() + begin * c, slope.data<float>(), static_cast<size_t>(end - begin), static_cast<size_t>(c),
        y.data<T>() + begin * c);
  });
}

template <class T>
void gated_add_with(void (*run)(const T*, const T*, const T*, size_t, size_t, T*), const Tensor& x, const Tensor& gate,
                    const Tensor& residual, Tensor& y) {
  if (y.elements() == 0) return;
  const int64_t images = x.dim(0), c = x.dim(-1), rows = x.elements() / (images * c);
  for (int64_t image = 0; image < images; ++image)
    parallel_for(rows, kGrain / c, [&](int64_t begin, int64_t end) {
      const int64_t at = (image * rows + begin) * c;
      run(x.data<T>() + at, gate.data<T>() + image * c, residual.data<T>() + at, static_cast<size_t>(end - begin),
          static_cast<size_t>(c), y.data<T>() + at);
    });
}

template <class T>
void geglu_with(void (*run)(const T*, size_t, size_t, T*), const Tensor& x, Tensor& y) {
  const int64_t c = y.dim(-1);
  if (c == 0) return;
  parallel_for(y.elements() / c, kGrain / c, [&](int64_t begin, int64_t end) {
    run(x.data<T>() + begin * 2 * c, static_cast<size_t>(end - begin), static_cast<size_t>(c), y.data<T>() + begin * c);
  });
}

}  // namespace

void activate(const Tensor& x, Activation a, Tensor& y) {
  if (x.dtype() == DType::kBF16)
    activate_with(HWY_DYNAMIC_DISPATCH(activate_bf16), x, a, y);
  else
    activate_with(HWY_DYNAMIC_DISPATCH(activate_f32), x, a, y);
}

void add(const Tensor& a, const Tensor& b, Tensor& y) {
  if (a.dtype() == DType::kBF16)
    binary_with(HWY_DYNAMIC_DISPATCH(add_bf16), a, b, y);
  else
    binary_with(HWY_DYNAMIC_DISPATCH(add_f32), a, b, y);
}

void multiply(const Tensor& a, const Tensor& b, Tensor& y) {
  if (a.dtype() == DType::kBF16)
    binary_with(HWY_DYNAMIC_DISPATCH(multiply_bf16), a, b, y);
  else
    binary_with(HWY_DYNAMIC_DISPATCH(multiply_f32), a, b, y);
}

void scaled_add(const Tensor& x, float scale, const Tensor& residual, Tensor& y) {
  if (x.dtype() == DType::kBF16)
    scaled_add_with(HWY_DYNAMIC_DISPATCH(scaled_add_bf16), x, scale, residual, y);
  else
    scaled_add_with(HWY_DYNAMIC_DISPATCH(scaled_add_f32), x, scale, residual, y);
}

void prelu(const Tensor& x, const Tensor& slope, Tensor& y) {
  if (x.dtype() == DType::kBF16)
    prelu_with(HWY_DYNAMIC_DISPATCH(prelu_bf16), x, slope, y);
  else
    prelu_with(HWY_DYNAMIC_DISPATCH(prelu_f32), x, slope, y);
}

void gated_add(const Tensor& x, const Tensor& gate, const Tensor& residual, Tensor& y) {
  if (x.dtype() == DType::kBF16)
    gated_add_with(HWY_DYNAMIC_DISPATCH(gated_add_bf16), x, gate, residual, y);
  else
    gated_add_with(HWY_DYNAMIC_DISPATCH(gated_add_f32), x, gate, residual, y);
}

void geglu(const Tensor& x, Tensor& y) {
  if (x.dtype() == DType::kBF16)
    geglu_with(HWY_DYNAMIC_DISPATCH(geglu_bf16), x, y);
  else
    geglu_with(HWY_DYNAMIC_DISPATCH(geglu_f32), x, y);
}

}  // namespace gesso::cpu
#endif
