// Softmax of flash attention on one tile of scores: lanes are queries, rows are keys.
#if defined(GESSO_ATTENTION_SOFTMAX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GESSO_ATTENTION_SOFTMAX_INL_H
#undef GESSO_ATTENTION_SOFTMAX_INL_H
#else
#define GESSO_ATTENTION_SOFTMAX_INL_H
#endif

#include "device/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gesso::cpu::HWY_NAMESPACE {

// Hides keys after each query: key row j is key first_key + j, lane i is query first_query + i.
template <size_t kVectors>
HWY_INLINE void hide_future(float* s, size_t keys, size_t first_key, size_t first_query) {
  constexpr size_t kWidth = kVectors * kLanes;
  const V minus_infinity = set(-__builtin_inff());
  for (size_t row = first_key > first_query ? 0 : first_query - first_key; row < keys; ++row)
    for (size_t i = 0; i < kVectors; ++i) {
      float* at = s + row * kWidth + i * kLanes;
      const float offset =
          static_cast<float>(static_cast<int64_t>(first_query + i * kLanes) - static_cast<int64_t>(first_key + row));
      const V distance = hn::Add(hn::Iota(F32(), 0.f), set(offset));
      hn::Store(hn::IfThenElse(hn::Lt(distance, set(0.f)), minus_infinity, hn::Load(F32(), at)), F32(), at);
    }
}

// Adds bias[key][query] to the scores, which are kept times log2(e). Minus infinity hides a key: it becomes a finite
// number that any visible key outweighs, so that a query may meet hidden keys first.
template <size_t kVectors>
HWY_INLINE void add_bias(float* s, size_t keys, const float* bias, size_t bias_stride, size_t count) {
  constexpr size_t kWidth = kVectors * kLanes;
  for (size_t key = 0; key < keys; ++key)
    for (size_t i = 0; i < kVectors && i * kLanes < count; ++i) {
      float* at = s + key * kWidth + i * kLanes;
      const V b = load_n(bias + key * bias_stride + i * kLanes, HWY_MIN(kLanes, count - i * kLanes));
      hn::Store(at_least(hn::MulAdd(b, set(1.44269504f), hn::Load(F32(), at)), -1e30f), F32(), at);
    }
}

// Scores to weights: raises the running maximum, multiplies the running sum by `decay` = 2^(old maximum - new) and
// adds the weights 2^(score - maximum), which replace the scores. Rows [keys, padded_keys) get weight 0.
template <size_t kVectors>
HWY_INLINE void soften(float* s, size_t keys, size_t padded_keys, float* maximum, float* sum, float* decay) {
  constexpr size_t kWidth = kVectors * kLanes;
  V top[kVectors], total[kVectors];
  HWY_UNROLL(4)
  for (size_t i = 0; i < kVectors; ++i) top[i] = hn::Load(F32(), maximum + i * kLanes);
  for (size_t key = 0; key < keys; ++key) {
    HWY_UNROLL(4)
    for (size_t i = 0; i < kVectors; ++i) top[i] = hn::Max(top[i], hn::Load(F32(), s + key * kWidth + i * kLanes));
  }
  HWY_UNROLL(4)
  for (size_t i = 0; i < kVectors; ++i) {
    const V change = exp2_nonpositive(hn::Sub(hn::Load(F32(), maximum + i * kLanes), top[i]));
    hn::Store(change, F32(), decay + i * kLanes);
    hn::Store(top[i], F32(), maximum + i * kLanes);
    total[i] = hn::Mul(change, hn::Load(F32(), sum + i * kLanes));
  }
  for (size_t key = 0; key < keys; ++key) {
    HWY_UNROLL(4)
    for (size_t i = 0; i < kVectors; ++i) {
      float* at = s + key * kWidth + i * kLanes;
      const V weight = exp2_nonpositive(hn::Sub(hn::Load(F32(), at), top[i]));
      total[i] = hn::Add(total[i], weight);
      hn::Store(weight, F32(), at);
    }
  }
  HWY_UNROLL(4)
  for (size_t i = 0; i < kVectors; ++i) hn::Store(total[i], F32(), sum + i * kLanes);
  for (size_t at = keys * kWidth; at < padded_keys * kWidth; at += kLanes) hn::Store(set(0.f), F32(), s + at);
}

}  // namespace gesso::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
