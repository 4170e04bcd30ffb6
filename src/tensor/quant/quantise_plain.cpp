// The types with one or a few scales a block: Q*_0, Q*_1, 4-bit floats, ternary.
#include <cmath>

#include "tensor/quant/bits.h"
#include "tensor/quant/grids.h"
#include "tensor/quant/quantise.h"
#include "tensor/quant/search.h"

namespace gesso::quant {
namespace {

float largest_magnitude(const float* x, int count) {
  float largest = 0;
  for (int i = 0; i < count; ++i) largest = std::max(largest, std::fabs(x[i]));
  return largest;
}

float inverse(float d) {
  return d != 0 ? 1 / d : 0.f;
}

void pack_nibbles(const uint8_t* levels, uint8_t* target) {
  for (int i = 0; i < 16; ++i) target[i] = static_cast<uint8_t>((levels[i] & 15) | levels[i + 16] << 4);
}

void pack_fifths(const uint8_t* levels, uint8_t* target) {
  uint32_t high = 0;
  for (int i = 0; i < 32; ++i) high |= (levels[i] >> 4 & 1u) << i;
  std::memcpy(target, &high, sizeof high);
}

/// Importance times a measure of the value's own size.
void weigh(const float* x, const float* importance, float variance, float* weights) {
  for (int i = 0; i < 32; ++i) weights[i] = importance[i] * std::sqrt(variance + x[i] * x[i]);
}

float mean_square(const float* x, int64_t width) {
  float sum = 0;
  for (int64_t i = 0; i < width; ++i) sum += x[i] * x[i];
  return sum / static_cast<float>(width);
}

/// 32 values to levels of `bits` bits around a scale; returns the scale.
float symmetric_block(const float* x, const float* importance, float variance, int top, uint8_t* levels) {
  if (importance) {
    float weights[32];
    weigh(x, importance, variance, weights);
    return search_symmetric(32, top, x, weights, levels);
  }
  float largest = 0, extreme = 0;
  for (int i = 0; i < 32; ++i)
    if (largest < std::fabs(x[i])) largest = std::fabs(x[i]), extreme = x[i];
  const float d = extreme / static_cast<float>(-top), id = inverse(d);
  for (int i = 0; i < 32; ++i)
    levels[i] = static_cast<uint8_t>(level(x[i] * id + (static_cast<float>(top) + 0.5f), 2 * top - 1));
  return d;
}

/// 32 values to levels up to `top` above a minimum.
void affine_block(const float* x, const float* importance, float variance, int top, uint8_t* levels, float& d,
                  float& min) {
  if (importance) {
    float weights[32];
    weigh(x, importance, variance, weights);
    d = search_affine(32, top, x, weights, {-0.9f, 0.05f, 36, false}, levels, min);
    min = -min;
    return;
  }
  min = *std::min_element(x, x + 32);
  d = (*std::max_element(x, x + 32) - min) / static_cast<float>(top);
  const float id = inverse(d);
  for (int i = 0; i < 32; ++i) levels[i] = static_cast<uint8_t>(level((x[i] - min) * id + 0.5f, top));
}

/// The nearest E2M1 value, the first of equals.
int nearest_e2m1(float x, float d) {
  int best = 0;
  float error = std::fabs(static_cast<float>(kLevelsE2M1[0]) * d - x);
  for (int i = 1; i < 16; ++i)
    if (const float e = std::fabs(static_cast<float>(kLevelsE2M1[i]) * d - x); e < error) best = i, error = e;
  return best;
}

/// Rounds a positive scale to an E4M3 without sign, ties up; at most 0x7e.
uint8_t to_ue4m3(float x) {
  if (!(x > 0)) return 0;
  const auto bits = __builtin_bit_cast(uint32_t, std::min(x, 448.f));
  int exponent = static_cast<int>(bits >> 23 & 0xff) - 120, mantissa = static_cast<int>(bits >> 20 & 7);
  if (exponent <= 0) return static_cast<uint8_t>(level(x * 512.f + 0.5f, 7));
  mantissa += bits >> 19 & 1;
  if (mantissa > 7) mantissa = 0, ++exponent;
  return exponent >= 15 ? uint8_t{0x7e} : static_cast<uint8_t>(exponent << 3 | mantissa);
}

/// x in units of its block's largest magnitude, as -1, 0, 1 plus one.
int trit(float scaled) {
  return level(std::round(scaled) + 1, 2);
}

/// `count` digits of base 3, `stride` apart, as a fraction of 256 rounded up; the first digit is the highest of five.
uint8_t pack_trits(const float* x, int stride, int count, float id) {
  unsigned value = 0;
  for (int n = 0; n < 5; ++n) value = value * 3 + (n < count ? static_cast<unsigned>(trit(x[n * stride] * id)) : 0);
  return static_cast<uint8_t>((value * 256 + 242) / 243);
}

}  // namespace

void quantise_q1_0(const float* x, int64_t width, const float*, uint8_t* b) {
  for (; width > 0; width -= 128, x += 128, b += 18) {
    float sum = 0;
    for (int i = 0; i < 128; ++i) sum += std::fabs(x[i]);
    store_f16(b, sum / 128);
    std::fill_n(b + 2, 16, uint8_t{0});
    for (int i = 0; i < 128; ++i) b[2 + i / 8] |= static_cast<uint8_t>((x[i] >= 0 ? 1 : 0) << (i % 8));
  }
}

void quantise_q4_0(const float* x, int64_t width, const float* importance, uint8_t* b) {
  const float variance = importance ? mean_square(x, width) : 0;
  uint8_t levels[32];
  for (int64_t i = 0; i < width; i += 32, b += 18) {
    store_f16(b, symmetric_block(x + i, importance ? importance + i : nullptr, variance, 8, levels));
    pack_nibbles(levels, b + 2);
  }
}

void quantise_q4_1(const float* x, int64_t width, const float* importance, uint8_t* b) {
  const float variance = importance ? mean_square(x, width) : 0;
  uint8_t levels[32];
  for (int64_t i = 0; i < width; i += 32, b += 20) {
    float d, min;
    affine_block(x + i, importance ? importance + i : nullptr, variance, 15, levels, d, min);
    store_f16(b, d);
    store_f16(b + 2, min);
    pack_nibbles(levels, b + 4);
  }
}

void quantise_q5_0(const float* x, int64_t width, const float* importance, uint8_t* b) {
  const float variance = importance ? mean_square(x, width) : 0;
  uint8_t levels[32];
  for (int64_t i = 0; i < width; i += 32, b += 22) {
    store_f16(b, symmetric_block(x + i, importance ? importance + i : nullptr, variance, 16, levels));
    pack_fifths(levels, b + 2);
    pack_nibbles(levels, b + 6);
  }
}

void quantise_q5_1(const float* x, int64_t width, const float* importance, uint8_t* b) {
  const float variance = importance ? mean_square(x, width) : 0;
  uint8_t levels[32];
  for (int64_t i = 0; i < width; i += 32, b += 24) {
    float d, min;
    affine_block(x + i, importance ? importance + i : nullptr, variance, 31, levels, d, min);
    store_f16(b, d);
    store_f16(b + 2, min);
    pack_fifths(levels, b + 4);
    pack_nibbles(levels, b + 8);
  }
}

void quantise_q8_0(const float* x, int64_t width, const float*, uint8_t* b) {
  for (; width > 0; width -= 32, x += 32, b += 34) {
    const float d = largest_magnitude(x, 32) / 127, id = inverse(d);
    store_f16(b, d);
    for (int i = 0; i < 32; ++i) {
      const float scaled = std::round(x[i] * id);
      b[2 + i] = static_cast<uint8_t>(scaled < 0 ? -level(-scaled, 127) : level(scaled, 127));
    }
  }
}

void quantise_mxfp4(const float* x, int64_t width, const float*, uint8_t* b) {
  for (; width > 0; width -= 32, x += 32, b += 17) {
    const float largest = largest_magnitude(x, 32);
    b[0] = largest > 0 ? static_cast<uint8_t>(level(std::floor(std::log2(largest)) - 2 + 127, 254)) : uint8_t{0};
    const float d = e8m0_half(b[0]);
    for (int i = 0; i < 16; ++i)
      b[1 + i] = static_cast<uint8_t>(nearest_e2m1(x[i], d) | nearest_e2m1(x[i + 16], d) << 4);
  }
}

void quantise_nvfp4(const float* x, int64_t width, const float*, uint8_t* b) {
  for (; width > 0; width -= 64, b += 36)
    for (int s = 0; s < 4; ++s, x += 16) {
      b[s] = to_ue4m3(largest_magnitude(x, 16) / 6);
      const float d = ue4m3_half(b[s]);
      for (int i = 0; i < 8; ++i)
        b[4 + 8 * s + i] = static_cast<uint8_t>(nearest_e2m1(x[i], d) | nearest_e2m1(x[i + 8], d) << 4);
    }
}

void quantise_tq1_0(const float* x, int64_t width, const float*, uint8_t* b) {
  for (; width > 0; width -= kSuper, x += kSuper, b += 54) {
    const float d = largest_magnitude(x, kSuper), id = inverse(d);
    for (int i = 0; i < 32; ++i) b[i] = pack_trits(x + i, 32, 5, id);
    for (int i = 0; i < 16; ++i) b[32 + i] = pack_trits(x + 160 + i, 16, 5, id);
    for (int i = 0; i < 4; ++i) b[48 + i] = pack_trits(x + 240 + i, 4, 4, id);
    store_f16(b + 52, d);
  }
}

void quantise_tq2_0(const float* x, int64_t width, const float*, uint8_t* b) {
  for (; width > 0; width -= kSuper, x += kSuper, b += 66) {
    const float d = largest_magnitude(x, kSuper), id = inverse(d);
    for (int i = 0; i < 64; ++i) {
      const float* quad = x + 128 * (i / 32) + i % 32;
      int q = 0;
      for (int n = 0; n < 4; ++n) q |= trit(quad[32 * n] * id) << (2 * n);
      b[i] = static_cast<uint8_t>(q);
    }
    store_f16(b + 64, d);
  }
}

}  // namespace gesso::quant
