#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/kernels/group_norm.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "device/cpu/kernels/kernels.h"
#include "device/cpu/kernels/scratch.h"
#include "device/cpu/kernels/simd-inl.h"

// Two passes over x [n, rows, c]. Statistics: blocks of rows, each reduced to the raw moments of its groups; the
// blocks depend on the shape alone and their moments are added in order, so the result does not depend on threads.
// Apply: y = act(x a[c] + b[c]), where mean, deviation, scale, bias and `add` of a channel have become a and b.

HWY_BEFORE_NAMESPACE();
namespace gesso::cpu::HWY_NAMESPACE {
namespace {

using F64 = hn::Repartition<double, F32>;
using HalfF32 = hn::Rebind<float, F64>;

// to[0, n) += from[0, n), f64 += f32; n a multiple of kLanes, both aligned.
HWY_INLINE void add_to(const float* from, double* to, size_t n) {
  constexpr size_t kStep = hn::MaxLanes(F64());
  for (size_t i = 0; i < n; i += kStep)
    hn::Store(hn::Add(hn::Load(F64(), to + i), hn::PromoteTo(F64(), hn::Load(HalfF32(), from + i))), F64(), to + i);
}

// Sums of (x - pivot) and its square over `rows` <= 4 rows, for n <= kLanes channels, onto f32 accumulators.
template <class T>
HWY_INLINE void add_rows_at(const T* x, size_t c, size_t rows, size_t n, const float* pivot, float* first,
                            float* second) {
  const V p = hn::Load(F32(), pivot);
  const V d0 = hn::Sub(load_n(x, n), p);
  V sum = d0, square = hn::Mul(d0, d0);
  if (rows == 4) {
    const V d1 = hn::Sub(load_n(x + c, n), p), d2 = hn::Sub(load_n(x + 2 * c, n), p);
    const V d3 = hn::Sub(load_n(x + 3 * c, n), p);
    sum = hn::Add(hn::Add(d0, d1), hn::Add(d2, d3));
    square = hn::Add(hn::MulAdd(d1, d1, square), hn::MulAdd(d3, d3, hn::Mul(d2, d2)));
  } else {
    for (size_t row = 1; row < rows; ++row) {
      const V d = hn::Sub(load_n(x + row * c, n), p);
      sum = hn::Add(sum, d);
      square = hn::MulAdd(d, d, square);
    }
  }
  hn::Store(hn::Add(hn::Load(F32(), first), sum), F32(), first);
  hn::Store(hn::Add(hn::Load(F32(), second), square), F32(), second);
}

template <class T>
HWY_INLINE void add_rows(const T* x, size_t c, size_t rows, const float* pivot, float* first, float* second) {
  size_t i = 0;
  for (; i + kLanes <= c; i += kLanes) add_rows_at(x + i, c, rows, kLanes, pivot + i, first + i, second + i);
  if (i < c) add_rows_at(x + i, c, rows, c - i, pivot + i, first + i, second + i);
}

// moments [groups][2]: sums of x and x^2 per group, from the sums per channel about its pivot, to which `add` belongs.
// In f64 the cancellation that moments about zero suffer later is harmless.
template <class T>
HWY_INLINE void group_moments(const double* first, const double* second, const float* pivot, const T* add, size_t rows,
                              size_t c, size_t groups, double* moments) {
  const size_t per_group = c / groups;
  const double count = static_cast<double>(rows);
  for (size_t g = 0; g < groups; ++g) {
    double sum = 0, square = 0;
    for (size_t i = g * per_group; i < (g + 1) * per_group; ++i) {
      double p = static_cast<double>(pivot[i]);
      if (add) p += static_cast<double>(hn::GetLane(load_n(add + i, 1)));
      sum += first[i] + count * p;
      square += second[i] + p * (2 * first[i] + count * p);
    }
    moments[2 * g] = sum;
    moments[2 * g + 1] = square;
  }
}

// Sums about the block's first row, f32 for 64 rows at a time and f64 across. `padded` is c rounded up to kLanes; the
// scratch holds 3 padded floats and 2 padded doubles.
template <class T>
HWY_INLINE void block_moments(const T* x, const T* add, size_t rows, size_t c, size_t groups, double* scratch,
                              double* moments) {
  constexpr size_t kPiece = 64;
  const size_t padded = (c + kLanes - 1) / kLanes * kLanes;
  double* first = scratch;
  double* second = first + padded;
  auto* pivot = reinterpret_cast<float*>(second + padded);
  float* piece_first = pivot + padded;
  float* piece_second = piece_first + padded;
  for (size_t i = 0; i < padded; ++i) first[i] = second[i] = 0;
  for (size_t i = 0; i < c; i += kLanes) hn::Store(load_n(x + i, HWY_MIN(kLanes, c - i)), F32(), pivot + i);
  for (size_t piece = 0; piece < rows; piece += kPiece) {
    const size_t end = HWY_MIN(piece + kPiece, rows);
    for (size_t i = 0; i < padded; ++i) piece_first[i] = piece_second[i] = 0;
    size_t row = piece;
    for (; row + 4 <= end; row += 4) add_rows(x + row * c, c, 4, pivot, piece_first, piece_second);
    if (row < end) add_rows(x + row * c, c, end - row, pivot, piece_first, piece_second);
    add_to(piece_first, first, padded);
    add_to(piece_second, second, padded);
  }
  group_moments(first, second, pivot, add, rows, c, groups, moments);
}

struct Silu {
  HWY_INLINE V operator()(V x) const { return silu(x); }
};
struct Identity {
  HWY_INLINE V operator()(V x) const { return x; }
};

template <class Function, class T>
HWY_INLINE void apply_rows(const Function& f, const T* x, const float* a, const float* b, size_t rows, size_t c, T* y) {
  for (size_t row = 0; row < rows; ++row, x += c, y += c) {
    size_t i = 0;
    for (; i + kLanes <= c; i += kLanes) store(f(hn::MulAdd(load(x + i), load(a + i), load(b + i))), y + i);
    if (i < c) {
      const size_t n = c - i;
      store_n(f(hn::MulAdd(load_n(x + i, n), load_n(a + i, n), load_n(b + i, n))), y + i, n);
    }
  }
}

template <class T>
HWY_INLINE void apply(const T* x, const float* a, const float* b, bool with_silu, size_t rows, size_t c, T* y) {
  if (with_silu)
    apply_rows(Silu(), x, a, b, rows, c, y);
  else
    apply_rows(Identity(), x, a, b, rows, c, y);
}

}  // namespace

void group_moments_f32(const float* x, const float* add, size_t rows, size_t c, size_t groups, double* scratch,
                       double* moments) {
  block_moments(x, add, rows, c, groups, scratch, moments);
}
void group_moments_bf16(const uint16_t* x, const uint16_t* add, size_t rows, size_t c, size_t groups, double* scratch,
                        double* moments) {
  block_moments(x, add, rows, c, groups, scratch, moments);
}
void group_apply_f32(const float* x, const float* a, const float* b, bool with_silu, size_t rows, size_t c, float* y) {
  apply(x, a, b, with_silu, rows, c, y);
}
void group_apply_bf16(const uint16_t* x, const float* a, const float* b, bool with_silu, size_t rows, size_t c,
                      uint16_t* y) {
  apply(x, a, b, with_silu, rows, c, y);
}

}  // namespace gesso::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gesso::cpu {

HWY_EXPORT(group_moments_f32);
HWY_EXPORT(group_moments_bf16);
HWY_EXPORT(group_apply_f32);
HWY_EXPORT(group_apply_bf16);

namespace {

struct Problem {
  int64_t images, rows, c, groups, block_rows, blocks;
};

Problem problem_of(const Tensor& x, int groups) {
  Problem p{};
  p.images = x.dim(0);
  p.c = x.dim(-1);
  p.groups = groups;
  p.rows = x.elements() / (p.images * p.c);
  p.block_rows = std::clamp<int64_t>(65536 / p.c, 32, 512) / 4 * 4;
  p.blocks = (p.rows + p.block_rows - 1) / p.block_rows;
  return p;
}

// moments [images][blocks][groups][2]
template <class T>
void moments_with(void (*run)(const T*, const T*, size_t, size_t, size_t, double*, double*), const Problem& p,
                  const Tensor& x, const Tensor& add, double* moments) {
  const auto c = static_cast<size_t>(p.c), groups = static_cast<size_t>(p.groups);
  const size_t per_channel = 2 * sizeof(double) + 3 * sizeof(float), most_lanes = 64;
  parallel_for(p.images * p.blocks, 1, [&](int64_t begin, int64_t end) {
    auto* memory = static_cast<double*>(scratch(Scratch::kTask, (c + most_lanes) * per_channel));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / p.blocks, first = i % p.blocks * p.block_rows;
      const auto rows = static_cast<size_t>(std::min(p.block_rows, p.rows - first));
      run(x.data<T>() + (image * p.rows + first) * p.c, add ? add.data<T>() + image * p.c : nullptr, rows, c, groups,
          memory, moments + i * p.groups * 2);
    }
  });
}

// y = x a + b per image and channel; ab [images][2][c].
void affine_from_moments(const Problem& p, const double* moments, const Tensor& add, const Tensor& scale,
                         const Tensor& bias, float eps, float* ab) {
  const int64_t per_group = p.c / p.groups;
  const double count = static_cast<double>(p.rows * per_group);
  for (int64_t image = 0; image < p.images; ++image) {
    float* a = ab + image * 2 * p.c;
    float* b = a + p.c;
    for (int64_t g = 0; g < p.groups; ++g) {
      double sum = 0, square = 0;
      for (int64_t block = 0; block < p.blocks; ++block) {
        const double* m = moments + ((image * p.blocks + block) * p.groups + g) * 2;
        sum += m[0];
        square += m[1];
      }
      const double mean = sum / count, variance = std::max(square / count - mean * mean, 0.0);
      const double inverse = 1.0 / std::sqrt(variance + static_cast<double>(eps));
      for (int64_t i = g * per_group; i < (g + 1) * per_group; ++i) {
        const double factor = inverse * static_cast<double>(scale.data<float>()[i]);
        double from = mean;
        if (add)
          from -= static_cast<double>(add.dtype() == DType::kBF16 ? bf16_to_f32(add.data<uint16_t>()[image * p.c + i])
                                                                  : add.data<float>()[image * p.c + i]);
        a[i] = static_cast<float>(factor);
        b[i] = static_cast<float>(static_cast<double>(bias.data<float>()[i]) - from * factor);
      }
    }
  }
}

template <class T>
void apply_with(void (*run)(const T*, const float*, const float*, bool, size_t, size_t, T*), const Problem& p,
                const Tensor& x, const float* ab, bool with_silu, Tensor& y) {
  for (int64_t image = 0; image < p.images; ++image) {
    const float* a = ab + image * 2 * p.c;
    parallel_for(p.rows, 16384 / p.c, [&](int64_t begin, int64_t end) {
      const int64_t at = (image * p.rows + begin) * p.c;
      run(x.data<T>() + at, a, a + p.c, with_silu, static_cast<size_t>(end - begin), static_cast<size_t>(p.c),
          y.data<T>() + at);
    });
  }
}

}  // namespace

void group_norm(const Tensor& x, const Tensor& add, const Tensor& scale, const Tensor& bias, const GroupNorm& g,
                Tensor& y) {
  if (x.elements() == 0) return;
  const Problem p = problem_of(x, g.groups);
  const auto moments_size = static_cast<size_t>(p.images * p.blocks * p.groups * 2);
  const auto ab_size = static_cast<size_t>(p.images * 2 * p.c);
  auto* moments =
      static_cast<double*>(scratch(Scratch::kOperation, moments_size * sizeof(double) + ab_size * sizeof(float)));
  auto* ab = reinterpret_cast<float*>(moments + moments_size);
  const bool with_silu = g.activation == Activation::kSilu;
  if (x.dtype() == DType::kBF16) {
    moments_with(HWY_DYNAMIC_DISPATCH(group_moments_bf16), p, x, add, moments);
    affine_from_moments(p, moments, add, scale, bias, g.eps, ab);
    apply_with(HWY_DYNAMIC_DISPATCH(group_apply_bf16), p, x, ab, with_silu, y);
  } else {
    moments_with(HWY_DYNAMIC_DISPATCH(group_moments_f32), p, x, add, moments);
    affine_from_moments(p, moments, add, scale, bias, g.eps, ab);
    apply_with(HWY_DYNAMIC_DISPATCH(group_apply_f32), p, x, ab, with_silu, y);
  }
}

}  // namespace gesso::cpu
#endif
