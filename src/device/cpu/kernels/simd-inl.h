// Vector helpers shared by the kernels, compiled once per instruction set: no include guard but Highway's toggle, and
// nothing of the standard library, whose inline functions would be emitted with the wrong instruction set.
#if defined(GESSO_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GESSO_SIMD_INL_H
#undef GESSO_SIMD_INL_H
#else
#define GESSO_SIMD_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gesso::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using U32 = hn::RebindToUnsigned<F32>;
using I32 = hn::RebindToSigned<F32>;
using U16 = hn::Rebind<uint16_t, F32>;
using V = hn::Vec<F32>;
constexpr size_t kLanes = hn::MaxLanes(F32());

HWY_INLINE V set(float value) {
  return hn::Set(F32(), value);
}

// ---- Elements in memory: float, or uint16_t holding bfloat16. Nothing here needs aligned pointers.

HWY_INLINE V load(const float* from) {
  return hn::LoadU(F32(), from);
}
HWY_INLINE void store(V v, float* to) {
  hn::StoreU(v, F32(), to);
}

HWY_INLINE V from_bf16(hn::Vec<U16> bits) {
  return hn::BitCast(F32(), hn::ShiftLeft<16>(hn::PromoteTo(U32(), bits)));
}
HWY_INLINE hn::Vec<U16> to_bf16(V v) {  // to nearest even; NaN stays NaN
  const auto bits = hn::BitCast(U32(), v);
  const auto high = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(high, hn::Set(U32(), 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(hn::Set(U32(), 0x7fff), odd)));
  const auto quiet = hn::Or(high, hn::Set(U32(), 0x40));
  const auto bf16 = hn::IfThenElse(hn::RebindMask(U32(), hn::IsNaN(v)), quiet, rounded);
  return hn::DemoteTo(U16(), hn::BitCast(I32(), bf16));
}
HWY_INLINE V load(const uint16_t* from) {
  return from_bf16(hn::LoadU(U16(), from));
}
HWY_INLINE void store(V v, uint16_t* to) {
  hn::StoreU(to_bf16(v), U16(), to);
}

// The first `count` <= kLanes elements; the other lanes load as zero and are not stored. Masked where the instruction
// set can; elsewhere through a buffer, since Highway's emulation would read past the end.
template <typename T>
HWY_INLINE V load_n(const T* from, size_t count) {
  if (count >= kLanes) return load(from);
  T lanes[kLanes] = {};
  __builtin_memcpy(lanes, from, count * sizeof(T));
  return load(lanes);
}
template <typename T>
HWY_INLINE void store_n(V v, T* to, size_t count) {
  if (count >= kLanes) return store(v, to);
  T lanes[kLanes];
  store(v, lanes);
  __builtin_memcpy(to, lanes, count * sizeof(T));
}
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
HWY_INLINE V load_n(const float* from, size_t count) {
  return count >= kLanes ? load(from) : hn::MaskedLoad(hn::FirstN(F32(), count), F32(), from);
}
HWY_INLINE void store_n(V v, float* to, size_t count) {
  if (count >= kLanes) return store(v, to);
  hn::BlendedStore(v, hn::FirstN(F32(), count), F32(), to);
}
#endif
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
HWY_INLINE V load_n(const uint16_t* from, size_t count) {
  return count >= kLanes ? load(from) : from_bf16(hn::MaskedLoad(hn::FirstN(U16(), count), U16(), from));
}
HWY_INLINE void store_n(V v, uint16_t* to, size_t count) {
  if (count >= kLanes) return store(v, to);
  hn::BlendedStore(to_bf16(v), hn::FirstN(U16(), count), U16(), to);
}
#endif

// ---- Mathematics. Errors are relative and hold over the whole range of arguments unless stated.

// The larger of `low` and x, NaN where x is. (hn::Max differs between targets when x is NaN.)
HWY_INLINE V at_least(V x, float low) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  return hn::IfThenElse(hn::Lt(x, set(low)), set(low), x);
#else
  return hn::Max(set(low), x);  // maxps gives its second operand when one is NaN
#endif
}

// 2^f for |f| <= 1/2 to 1.1e-7 before rounding and exactly 1 at 0: minimax in relative error under that constraint.
HWY_INLINE V exp2_fraction(V f) {
  V p = set(1.326472688e-3f);
  p = hn::MulAdd(p, f, set(9.671512660e-3f));
  p = hn::MulAdd(p, f, set(5.550733744e-2f));
  p = hn::MulAdd(p, f, set(2.402224208e-1f));
  p = hn::MulAdd(p, f, set(6.931469776e-1f));
  return hn::MulAdd(p, f, set(1.0f));
}

// Adding this to x, |x| <= 127, rounds x to the integer n and leaves n + 127, the exponent of 2^n, in the low bits.
constexpr float kRounder = 0x1.8p23f + 127.f;
HWY_INLINE V exp2_of_rounded(V x_plus_rounder) {
  return hn::BitCast(F32(), hn::ShiftLeft<23>(hn::BitCast(U32(), x_plus_rounder)));
}

// 2^x for x <= 0 to 3e-7; 0 below -126.5; NaN for NaN. For softmax, where x is a score less the largest.
HWY_INLINE V exp2_nonpositive(V x) {
  x = at_least(x, -127.f);
  const V rounded = hn::Add(x, set(kRounder));
  const V fraction = hn::Sub(x, hn::Sub(rounded, set(kRounder)));
  return hn::Mul(exp2_fraction(fraction), exp2_of_rounded(rounded));
}

// e^x to 3e-7 for |x| <= 87; clamped to that range beyond, so that 1 + exp(x) and its reciprocal stay normal.
HWY_INLINE V exp_clamped(V x) {
  x = hn::Min(set(87.f), at_least(x, -87.f));
  const V rounded = hn::MulAdd(x, set(1.44269504f), set(kRounder));
  const V whole = hn::Sub(rounded, set(kRounder));
  // x - n ln 2 in two steps keeps the bits that x log2(e) would lose for large x.
  V r = hn::NegMulAdd(whole, set(0.693359375f), x);
  r = hn::NegMulAdd(whole, set(-2.12194440e-4f), r);
  return hn::Mul(exp2_fraction(hn::Mul(r, set(1.44269504f))), exp2_of_rounded(rounded));
}

// 1 / x to 3e-7 for normal x whose reciprocal is normal.
HWY_INLINE V reciprocal(V x) {
  const V r = hn::ApproximateReciprocal(x);
  return hn::Mul(r, hn::NegMulAdd(x, r, set(2.f)));
}

// x / (1 + e^-(k x)): SiLU for k = 1.
HWY_INLINE V times_sigmoid(V x, V argument) {
  return hn::Mul(x, reciprocal(hn::Add(set(1.f), exp_clamped(hn::Neg(argument)))));
}
HWY_INLINE V silu(V x) {
  return times_sigmoid(x, x);
}
HWY_INLINE V quick_gelu(V x) {
  return times_sigmoid(x, hn::Mul(x, set(1.702f)));
}

// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) = x sigmoid(2 ...)
HWY_INLINE V gelu_tanh(V x) {
  const V cubic = hn::MulAdd(hn::Mul(x, x), set(0.07135481627f), set(1.595769122f));
  return times_sigmoid(x, hn::Mul(x, cubic));
}

// 3 tanh(x / 3) = 6 sigmoid(2 x / 3) - 3, absolute error below 2e-6; NaN for NaN
HWY_INLINE V soft_clamp_3(V x) {
  const V sigmoid = reciprocal(hn::Add(set(1.f), exp_clamped(hn::Mul(x, set(-2.f / 3)))));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::MulAdd(sigmoid, set(6.f), set(-3.f)));
}

// x Phi(x), absolute error below 3e-7 |x|: Phi from formula 7.1.26 of Abramowitz and Stegun, erfc(z) = u P(u) e^(-z^2)
// with u = 1 / (1 + p z), which is smooth for z >= 0; the other side follows by symmetry.
HWY_INLINE V gelu(V x) {
  const V z = hn::Abs(hn::Mul(x, set(0.70710678f)));
  const V u = reciprocal(hn::MulAdd(z, set(0.3275911f), set(1.f)));
  V p = set(0.5f * 1.061405429f);
  p = hn::MulAdd(p, u, set(0.5f * -1.453152027f));
  p = hn::MulAdd(p, u, set(0.5f * 1.421413741f));
  p = hn::MulAdd(p, u, set(0.5f * -0.284496736f));
  p = hn::MulAdd(p, u, set(0.5f * 0.254829592f));
  const V tail = hn::Mul(hn::Mul(p, u), exp_clamped(hn::Neg(hn::Mul(z, z))));  // Phi(-|x|)
  return hn::Mul(x, hn::IfThenElse(hn::Lt(x, hn::Zero(F32())), tail, hn::Sub(set(1.f), tail)));
}

}  // namespace gesso::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
