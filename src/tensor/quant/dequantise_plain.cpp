// The types with one or a few scales a block: Q*_0, Q*_1, 4-bit floats, ternary.
#include "tensor/quant/bits.h"
#include "tensor/quant/dequantise.h"
#include "tensor/quant/grids.h"

namespace gesso::quant {
namespace {

/// The fifth bits of 32 elements, as 0 or 16.
int fifth(uint32_t high, int i) {
  return static_cast<int>(high >> i & 1) << 4;
}

/// 5 digits of base 3 in a byte, as a fraction of 256; digit n.
float trit(uint8_t packed, int n) {
  constexpr uint8_t kPowers[] = {1, 3, 9, 27, 81};
  const auto shifted = static_cast<uint8_t>(packed * kPowers[n]);
  return static_cast<float>((shifted * 3 >> 8) - 1);
}

/// 16 bytes of two 4-bit floats: the low ones first, then the high ones.
void e2m1(const uint8_t* bytes, int count, float d, float* y) {
  for (int i = 0; i < count; ++i) {
    y[i] = static_cast<float>(kLevelsE2M1[bytes[i] & 15]) * d;
    y[i + count] = static_cast<float>(kLevelsE2M1[bytes[i] >> 4]) * d;
  }
}

}  // namespace

void dequantise_q1_0(const uint8_t* b, float* y) {
  const float d = load_f16(b);
  for (int i = 0; i < 128; ++i) y[i] = b[2 + i / 8] >> (i % 8) & 1 ? d : -d;
}

void dequantise_q4_0(const uint8_t* b, float* y) {
  const float d = load_f16(b);
  for (int i = 0; i < 16; ++i) {
    y[i] = static_cast<float>((b[2 + i] & 15) - 8) * d;
    y[i + 16] = static_cast<float>((b[2 + i] >> 4) - 8) * d;
  }
}

void dequantise_q4_1(const uint8_t* b, float* y) {
  const float d = load_f16(b), m = load_f16(b + 2);
  for (int i = 0; i < 16; ++i) {
    y[i] = static_cast<float>(b[4 + i] & 15) * d + m;
    y[i + 16] = static_cast<float>(b[4 + i] >> 4) * d + m;
  }
}

void dequantise_q5_0(const uint8_t* b, float* y) {
  const float d = load_f16(b);
  const uint32_t high = load_u32(b + 2);
  for (int i = 0; i < 16; ++i) {
    y[i] = static_cast<float>(((b[6 + i] & 15) | fifth(high, i)) - 16) * d;
    y[i + 16] = static_cast<float>(((b[6 + i] >> 4) | fifth(high, i + 16)) - 16) * d;
  }
}

void dequantise_q5_1(const uint8_t* b, float* y) {
  const float d = load_f16(b), m = load_f16(b + 2);
  const uint32_t high = load_u32(b + 4);
  for (int i = 0; i < 16; ++i) {
    y[i] = static_cast<float>((b[8 + i] & 15) | fifth(high, i)) * d + m;
    y[i + 16] = static_cast<float>((b[8 + i] >> 4) | fifth(high, i + 16)) * d + m;
  }
}

void dequantise_q8_0(const uint8_t* b, float* y) {
  const float d = load_f16(b);
  for (int i = 0; i < 32; ++i) y[i] = static_cast<float>(static_cast<int8_t>(b[2 + i])) * d;
}

void dequantise_mxfp4(const uint8_t* b, float* y) {
  e2m1(b + 1, 16, e8m0_half(b[0]), y);
}

void dequantise_nvfp4(const uint8_t* b, float* y) {
  for (int s = 0; s < 4; ++s) e2m1(b + 4 + 8 * s, 8, ue4m3_half(b[s]), y + 16 * s);
}

void dequantise_tq1_0(const uint8_t* b, float* y) {
  const float d = load_f16(b + 52);
  for (int n = 0; n < 5; ++n)
    for (int i = 0; i < 32; ++i) *y++ = trit(b[i], n) * d;
  for (int n = 0; n < 5; ++n)
    for (int i = 0; i < 16; ++i) *y++ = trit(b[32 + i], n) * d;
  for (int n = 0; n < 4; ++n)
    for (int i = 0; i < 4; ++i) *y++ = trit(b[48 + i], n) * d;
}

void dequantise_tq2_0(const uint8_t* b, float* y) {
  const float d = load_f16(b + 64);
  for (int half = 0; half < 2; ++half)
    for (int n = 0; n < 4; ++n)
      for (int i = 0; i < 32; ++i) *y++ = static_cast<float>((b[32 * half + i] >> (2 * n) & 3) - 1) * d;
}

}  // namespace gesso::quant
