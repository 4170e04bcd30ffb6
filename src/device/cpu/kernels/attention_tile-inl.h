// The two matmuls of flash attention on one tile, transposed: lanes are queries, so that softmax needs no reduction
// across lanes and keys and values are used as they lie. Everything here is f32 and padded: no tails.
#if defined(GESSO_ATTENTION_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GESSO_ATTENTION_TILE_INL_H
#undef GESSO_ATTENTION_TILE_INL_H
#else
#define GESSO_ATTENTION_TILE_INL_H
#endif

#include "device/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gesso::cpu::HWY_NAMESPACE {

// A tile is kTileRows x (up to kTileVectors vectors of queries), accumulated in registers: as large as they allow.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr size_t kTileRows = 8, kTileVectors = 3;  // 24 of 32 registers
#elif HWY_TARGET == HWY_AVX2
constexpr size_t kTileRows = 4, kTileVectors = 3;  // 12 of 16
#elif HWY_TARGET == HWY_SCALAR
constexpr size_t kTileRows = 2, kTileVectors = 4;
#else
constexpr size_t kTileRows = 4, kTileVectors = 2;  // without FMA the product needs a register too
#endif

// s[row][query] = sum over depth of k[row][.] q[.][query], for kTileRows keys. q [depth][kVectors kLanes].
template <size_t kVectors>
HWY_INLINE void score_tile(const float* HWY_RESTRICT q, size_t depth, const float* HWY_RESTRICT k, size_t k_stride,
                           float* HWY_RESTRICT s) {
  constexpr size_t kWidth = kVectors * kLanes;
  V sums[kTileRows][kVectors];
  HWY_UNROLL(8)
  for (size_t row = 0; row < kTileRows; ++row) {
    HWY_UNROLL(4)
    for (size_t i = 0; i < kVectors; ++i) sums[row][i] = set(0.f);
  }
  for (size_t p = 0; p < depth; ++p) {
    V queries[kVectors];
    HWY_UNROLL(4)
    for (size_t i = 0; i < kVectors; ++i) queries[i] = hn::Load(F32(), q + p * kWidth + i * kLanes);
    HWY_UNROLL(8)
    for (size_t row = 0; row < kTileRows; ++row) {
      const V key = set(k[row * k_stride + p]);
      HWY_UNROLL(4)
      for (size_t i = 0; i < kVectors; ++i) sums[row][i] = hn::MulAdd(key, queries[i], sums[row][i]);
    }
  }
  HWY_UNROLL(8)
  for (size_t row = 0; row < kTileRows; ++row) {
    HWY_UNROLL(4)
    for (size_t i = 0; i < kVectors; ++i) hn::Store(sums[row][i], F32(), s + row * kWidth + i * kLanes);
  }
}

// o[column][query] = decay[query] o[column][query] + sum over keys of v[key][column] p[key][query], for kTileRows
// columns of v. p [keys][kVectors kLanes].
template <size_t kVectors>
HWY_INLINE void value_tile(const float* HWY_RESTRICT p, size_t keys, const float* HWY_RESTRICT v, size_t v_stride,
                           const float* HWY_RESTRICT decay, float* HWY_RESTRICT o) {
  constexpr size_t kWidth = kVectors * kLanes;
  V sums[kTileRows][kVectors];
  HWY_UNROLL(8)
  for (size_t row = 0; row < kTileRows; ++row) {
    HWY_UNROLL(4)
    for (size_t i = 0; i < kVectors; ++i)
      sums[row][i] = hn::Mul(hn::Load(F32(), o + row * kWidth + i * kLanes), hn::Load(F32(), decay + i * kLanes));
  }
  for (size_t key = 0; key < keys; ++key) {
    V weights[kVectors];
    HWY_UNROLL(4)
    for (size_t i = 0; i < kVectors; ++i) weights[i] = hn::Load(F32(), p + key * kWidth + i * kLanes);
    HWY_UNROLL(8)
    for (size_t row = 0; row < kTileRows; ++row) {
      const V value = set(v[key * v_stride + row]);
      HWY_UNROLL(4)
      for (size_t i = 0; i < kVectors; ++i) sums[row][i] = hn::MulAdd(value, weights[i], sums[row][i]);
    }
  }
  HWY_UNROLL(8)
  for (size_t row = 0; row < kTileRows; ++row) {
    HWY_UNROLL(4)
    for (size_t i = 0; i < kVectors; ++i) hn::Store(sums[row][i], F32(), o + row * kWidth + i * kLanes);
  }
}

}  // namespace gesso::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
