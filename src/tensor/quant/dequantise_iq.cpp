// The IQ types: groups of 4 or 8 elements are entries of a codebook, times signs and scales.
#include "tensor/quant/bits.h"
#include "tensor/quant/dequantise.h"
#include "tensor/quant/grids.h"

namespace gesso::quant {
namespace {

/// The eight signs that 7 bits stand for: an even number of them is negative.
unsigned signs_of(uint32_t index) {
  index &= 127;
  return index | (static_cast<unsigned>(__builtin_parity(index)) << 7);
}

float sign(unsigned signs, int i) {
  return signs >> i & 1 ? -1.f : 1.f;
}

/// Eight elements of a codebook of 2-bit fields.
void group2(uint16_t entry, unsigned signs, float scale, float* y) {
  for (int i = 0; i < 8; ++i) y[i] = scale * kGrid2Values[entry >> (2 * i) & 3] * sign(signs, i);
}

/// Eight elements, two entries of a codebook of 3-bit fields.
void group3(uint16_t first, uint16_t second, const float* values, unsigned signs, float scale, float* y) {
  for (int i = 0; i < 4; ++i) {
    y[i] = scale * values[first >> (3 * i) & 7] * sign(signs, i);
    y[i + 4] = scale * values[second >> (3 * i) & 7] * sign(signs, i + 4);
  }
}

/// Eight elements of the ternary codebook, all shifted by delta.
void group1(unsigned index, float delta, float scale, float* y) {
  for (int i = 0; i < 8; ++i) y[i] = scale * (kGridIQ1SValues[kGridIQ1S[index] >> (2 * i) & 3] + delta);
}

float half_up(float d, unsigned scale, float unit) {
  return d * (0.5f + static_cast<float>(scale)) * unit;
}

constexpr float kDeltaIQ1 = 0.125f;

}  // namespace

void dequantise_iq2_xxs(const uint8_t* b, float* y) {
  const float d = load_f16(b);
  for (int j = 0; j < 8; ++j) {
    const uint8_t* q = b + 2 + 8 * j;
    const uint32_t packed = load_u32(q + 4);
    const float scale = half_up(d, packed >> 28, 0.25f);
    for (int l = 0; l < 4; ++l, y += 8) group2(kGridIQ2XXS[q[l]], signs_of(packed >> (7 * l)), scale, y);
  }
}

void dequantise_iq2_xs(const uint8_t* b, float* y) {
  const float d = load_f16(b);
  for (int j = 0; j < 32; ++j, y += 8) {
    const unsigned q = load_u16(b + 2 + 2 * j), scale = b[66 + j / 4] >> (j % 4 < 2 ? 0 : 4) & 15;
    group2(kGridIQ2XS[q & 511], signs_of(q >> 9), half_up(d, scale, 0.25f), y);
  }
}

void dequantise_iq2_s(const uint8_t* b, float* y) {
  const float d = load_f16(b);
  for (int j = 0; j < 32; ++j, y += 8) {
    const unsigned index = b[2 + j] | (b[66 + j / 4] >> (2 * (j % 4)) & 3) << 8;
    const unsigned scale = b[74 + j / 4] >> (j % 4 < 2 ? 0 : 4) & 15;
    group2(kGridIQ2S[index], b[34 + j], half_up(d, scale, 0.25f), y);
  }
}

void dequantise_iq3_xxs(const uint8_t* b, float* y) {
  const float d = load_f16(b);
  for (int j = 0; j < 8; ++j) {
    const uint8_t* q = b + 2 + 8 * j;
    const uint32_t packed = load_u32(b + 66 + 4 * j);
    const float scale = half_up(d, packed >> 28, 0.5f);
    for (int l = 0; l < 4; ++l, y += 8)
      group3(kGridIQ3XXS[q[2 * l]], kGridIQ3XXS[q[2 * l + 1]], kGridIQ3XXSValues, signs_of(packed >> (7 * l)), scale,
             y);
  }
}

void dequantise_iq3_s(const uint8_t* b, float* y) {
  const float d = load_f16(b);
  for (int j = 0; j < 32; ++j, y += 8) {
    const uint8_t *q = b + 2 + 2 * j, high = b[66 + j / 4];
    const int bit = 2 * (j % 4), scale = b[106 + j / 8] >> (j % 8 < 4 ? 0 : 4) & 15;
    group3(kGridIQ3S[q[0] | (high >> bit & 1) << 8], kGridIQ3S[q[1] | (high >> (bit + 1) & 1) << 8], kGridIQ3SValues,
           b[74 + j], d * static_cast<float>(1 + 2 * scale), y);
  }
}

void dequantise_iq1_s(const uint8_t* b, float* y) {
  const float d = load_f16(b);
  for (int j = 0; j < 32; ++j, y += 8) {
    const unsigned high = load_u16(b + 34 + 2 * (j / 4));
    const float scale = d * static_cast<float>(2 * (high >> 12 & 7) + 1);
    group1(b[2 + j] | (high >> (3 * (j % 4)) & 7) << 8, high & 0x8000 ? -kDeltaIQ1 : kDeltaIQ1, scale, y);
  }
}

void dequantise_iq1_m(const uint8_t* b, float* y) {
  const uint8_t *q = b, *high = b + 32, *scales = b + 48;
  unsigned bits = 0;  // the block's f16 scale lies in the top four bits of the four words of scales
  for (int i = 0; i < 4; ++i) bits |= (load_u16(scales + 2 * i) >> 12 & 15u) << (4 * i);
  const float d = f16_to_f32(static_cast<uint16_t>(bits));
  for (int j = 0; j < 32; ++j, y += 8) {
    const unsigned word = load_u16(scales + 2 * (j / 8)), scale = word >> (3 * (j / 2 % 4)) & 7;
    const unsigned nibble = high[j / 2] >> (4 * (j % 2)) & 15u;
    group1(q[j] | (nibble & 7) << 8, nibble & 8 ? -kDeltaIQ1 : kDeltaIQ1, d * static_cast<float>(2 * scale + 1), y);
  }
}

void dequantise_iq4_nl(const uint8_t* b, float* y) {
  const float d = load_f16(b);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * static_cast<float>(kLevelsIQ4[b[2 + i] & 15]);
    y[i + 16] = d * static_cast<float>(kLevelsIQ4[b[2 + i] >> 4]);
  }
}

void dequantise_iq4_xs(const uint8_t* b, float* y) {
  const float d = load_f16(b);
  const unsigned high = load_u16(b + 2);
  for (int j = 0; j < 8; ++j, y += 32) {
    const int scale = (b[4 + j / 2] >> (4 * (j % 2)) & 15) | static_cast<int>(high >> (2 * j) & 3) << 4;
    const float dl = d * static_cast<float>(scale - 32);
    const uint8_t* q = b + 8 + 16 * j;
    for (int i = 0; i < 16; ++i) {
      y[i] = dl * static_cast<float>(kLevelsIQ4[q[i] & 15]);
      y[i + 16] = dl * static_cast<float>(kLevelsIQ4[q[i] >> 4]);
    }
  }
}

}  // namespace gesso::quant
