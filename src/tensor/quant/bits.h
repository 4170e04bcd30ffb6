#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tensor/dtype.h"

namespace gesso::quant {

/// Elements of a super-block, the unit of the K, IQ and TQ types.
inline constexpr int kSuper = 256;

inline uint16_t load_u16(const uint8_t* p) {
  uint16_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

inline uint32_t load_u32(const uint8_t* p) {
  uint32_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

inline float load_f16(const uint8_t* p) {
  return f16_to_f32(load_u16(p));
}

inline void store_f16(uint8_t* p, float value) {
  const uint16_t bits = f32_to_f16(value);
  std::memcpy(p, &bits, sizeof bits);
}

/// Nearest integer, ties to even, for |v| < 2^22; anything for other values and NaN, but defined.
inline int nearest(float v) {
  const float shifted = v + 12582912.f;  // 1.5 * 2^23: the integer lands in the low bits of the mantissa
  return static_cast<int>(__builtin_bit_cast(uint32_t, shifted) & 0x7fffff) - 0x400000;
}

/// v truncated into [0, top]; NaN becomes 0.
inline int level(float v, int top) {
  return v >= static_cast<float>(top) ? top : v > 0 ? static_cast<int>(v) : 0;
}

/// The 6-bit scale and minimum of sub-block j (of 8) in the 12 bytes of Q4_K and Q5_K.
inline void unpack_scale_min(const uint8_t* packed, int j, int& scale, int& min) {
  if (j < 4) {
    scale = packed[j] & 63;
    min = packed[j + 4] & 63;
  } else {
    scale = (packed[j + 4] & 15) | (packed[j - 4] >> 6) << 4;
    min = (packed[j + 4] >> 4) | (packed[j] >> 6) << 4;
  }
}

inline void pack_scale_min(uint8_t* packed, int j, int scale, int min) {
  if (j < 4) {
    packed[j] = static_cast<uint8_t>(scale);
    packed[j + 4] = static_cast<uint8_t>(min);
  } else {
    packed[j + 4] = static_cast<uint8_t>((scale & 15) | (min & 15) << 4);
    packed[j - 4] |= static_cast<uint8_t>((scale >> 4) << 6);
    packed[j] |= static_cast<uint8_t>((min >> 4) << 6);
  }
}

/// The signed 6-bit scale of sub-block j (of 16) in the 12 bytes of Q3_K.
inline int unpack_scale_q3(const uint8_t* packed, int j) {
  const int low = j < 8 ? packed[j] & 15 : packed[j - 8] >> 4;
  return (low | (packed[8 + j % 4] >> (2 * (j / 4)) & 3) << 4) - 32;
}

/// `scale` in [-32, 31]; `packed` was zero before the first.
inline void pack_scale_q3(uint8_t* packed, int j, int scale) {
  const int bits = scale + 32;
  packed[j % 8] |= static_cast<uint8_t>((bits & 15) << (j < 8 ? 0 : 4));
  packed[8 + j % 4] |= static_cast<uint8_t>((bits >> 4) << (2 * (j / 4)));
}

/// The scale of a microscaling block, halved (kLevelsE2M1 are doubled): 2^(e - 128), as E8M0 has it.
inline float e8m0_half(uint8_t e) {
  return __builtin_bit_cast(float, e < 2 ? 0x200000u << e : (e - 1u) << 23);
}

/// The scale of an NVFP4 sub-block, halved: an E4M3 without sign, in which 0x7f counts as 0.
inline float ue4m3_half(uint8_t bits) {
  if (bits == 0x7f) return 0;
  const int exponent = bits >> 3 & 15, mantissa = bits & 7;
  const float magnitude = exponent == 0
                              ? static_cast<float>(mantissa) * 0x1p-9f
                              : static_cast<float>(8 + mantissa) * __builtin_bit_cast(float, (exponent + 117u) << 23);
  return magnitude * 0.5f;
}

}  // namespace gesso::quant
