// The K types: super-blocks of 256, sub-blocks of 16 or 32 whose scales are quantised too.
#include <cmath>

#include "tensor/quant/bits.h"
#include "tensor/quant/quantise.h"
#include "tensor/quant/search.h"

namespace gesso::quant {
namespace {

float sum_of_squares(const float* x, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += x[i] * x[i];
  return sum;
}

float sum(const float* x, int count) {
  float total = 0;
  for (int i = 0; i < count; ++i) total += x[i];
  return total;
}

void weigh(const float* x, const float* importance, float variance, int count, float* weights) {
  for (int i = 0; i < count; ++i) weights[i] = importance[i] * std::sqrt(variance + x[i] * x[i]);
}

/// Levels of four groups of 32 side by side, two bits each, twice.
void pack_quads(const uint8_t* levels, int shift, uint8_t* target) {
  for (int i = 0; i < 64; ++i) {
    const uint8_t* quad = levels + 128 * (i / 32) + i % 32;
    int q = 0;
    for (int n = 0; n < 4; ++n) q |= (quad[32 * n] >> shift & 3) << (2 * n);
    target[i] = static_cast<uint8_t>(q);
  }
}

/// Levels for scale d and minimum m that were themselves rounded; with d = 0 those that the search found stay.
void requantise(const float* x, int count, float d, float m, int low, int top, uint8_t* levels) {
  if (d == 0) return;
  for (int i = 0; i < count; ++i) levels[i] = static_cast<uint8_t>(std::clamp(nearest((x[i] + m) / d), low, top) - low);
}

/// Scales and minima of a super-block with their levels in f16 units of the block's own scale and minimum.
struct Affine {
  float d = 0, dmin = 0;
  uint8_t scales[16] = {}, mins[16] = {};
};

/// Splits a super-block into sub-blocks of `size`, finds each one's scale and minimum, and quantises those to `top`.
Affine affine_super_block(const float* x, const float* importance, int size, int top_level, int top_scale,
                          uint8_t* levels) {
  const int count = kSuper / size;
  float scales[16], mins[16], totals[16], weights[32];
  // Two bits with importance weigh by the plain variance, the wider types by twice that.
  const float variance = (size == 16 ? 1.f : 2.f) * sum_of_squares(x, kSuper) / kSuper;
  Affine result;
  for (int j = 0; j < count; ++j) {
    const float* part = x + j * size;
    Sweep sweep{-0.9f, 0.05f, 36, false};
    if (importance) {
      weigh(part, importance + j * size, variance, size, weights);
      totals[j] = sum(weights, size);
    } else if (size == 16) {
      for (int i = 0; i < size; ++i) weights[i] = std::fabs(part[i]);
      sweep = {-0.5f, 0.1f, 15, true};
    } else {
      const float mean = std::sqrt(sum_of_squares(part, size) / static_cast<float>(size));
      for (int i = 0; i < size; ++i) weights[i] = mean + std::fabs(part[i]);
      sweep = top_level == 15 ? Sweep{-1.f, 0.1f, 20, false} : Sweep{-0.5f, 0.1f, 15, false};
    }
    scales[j] = search_affine(size, top_level, part, weights, sweep, levels + j * size, mins[j]);
  }
  if (importance) {
    result.d = search_positive(count, top_scale, scales, totals, result.scales);
    result.dmin = search_positive(count, top_scale, mins, totals, result.mins);
    return result;
  }
  const auto by_largest = [&](const float* values, uint8_t* rounded) {
    const float largest = std::max(0.f, *std::max_element(values, values + count)), top = static_cast<float>(top_scale);
    const float inverse = largest > 0 ? top / largest : 0.f;
    for (int j = 0; j < count; ++j)
      rounded[j] = static_cast<uint8_t>(std::clamp(nearest(inverse * values[j]), 0, top_scale));
    return largest / top;
  };
  result.d = by_largest(scales, result.scales);
  result.dmin = by_largest(mins, result.mins);
  return result;
}

/// Stores d, dmin and the packed scales of Q4_K and Q5_K, and rounds the levels to them.
void finish_affine(const float* x, const Affine& a, int top_level, uint8_t* b, uint8_t* levels) {
  store_f16(b, a.d);
  store_f16(b + 2, a.dmin);
  std::fill_n(b + 4, 12, uint8_t{0});
  for (int j = 0; j < 8; ++j) pack_scale_min(b + 4, j, a.scales[j], a.mins[j]);
  for (int j = 0; j < 8; ++j)
    requantise(x + 32 * j, 32, load_f16(b) * a.scales[j], load_f16(b + 2) * a.mins[j], 0, top_level, levels + 32 * j);
}

void pack_low_nibbles(const uint8_t* levels, uint8_t* target) {
  for (int i = 0; i < 128; ++i) {
    const uint8_t* pair = levels + 64 * (i / 32) + i % 32;
    target[i] = static_cast<uint8_t>((pair[0] & 15) | (pair[32] & 15) << 4);
  }
}

}  // namespace

void quantise_q2_k(const float* x, int64_t width, const float* importance, uint8_t* b) {
  uint8_t levels[kSuper];
  for (int64_t at = 0; at < width; at += kSuper, x += kSuper, b += 84) {
    const Affine a = affine_super_block(x, importance ? importance + at : nullptr, 16, 3, 15, levels);
    store_f16(b + 80, a.d);
    store_f16(b + 82, a.dmin);
    for (int j = 0; j < 16; ++j) {
      b[j] = static_cast<uint8_t>(a.scales[j] | a.mins[j] << 4);
      requantise(x + 16 * j, 16, load_f16(b + 80) * a.scales[j], load_f16(b + 82) * a.mins[j], 0, 3, levels + 16 * j);
    }
    pack_quads(levels, 0, b + 16);
  }
}

void quantise_q3_k(const float* x, int64_t width, const float* importance, uint8_t* b) {
  uint8_t levels[kSuper];
  for (int64_t at = 0; at < width; at += kSuper, x += kSuper, b += 110) {
    float scales[16], totals[16], weights[16], d = 0;
    int rounded[16] = {-32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32, -32};
    if (importance) {
      const float variance = 2 * sum_of_squares(x, kSuper) / kSuper;
      for (int j = 0; j < 16; ++j) {
        weigh(x + 16 * j, importance + at + 16 * j, variance, 16, weights);
        totals[j] = sum(weights, 16);
        scales[j] = search_symmetric(16, 4, x + 16 * j, weights, levels + 16 * j);
      }
      uint8_t scale_levels[16];
      d = search_symmetric(16, 32, scales, totals, scale_levels);
      for (int j = 0; j < 16; ++j) rounded[j] = scale_levels[j] - 32;
    } else {
      float extreme = 0;
      for (int j = 0; j < 16; ++j) {
        scales[j] = descend_symmetric(16, 4, x + 16 * j, levels + 16 * j);
        if (std::fabs(scales[j]) > std::fabs(extreme)) extreme = scales[j];
      }
      if (extreme != 0) {
        const float inverse = -32.f / extreme;
        d = 1 / inverse;
        for (int j = 0; j < 16; ++j) rounded[j] = std::clamp(nearest(inverse * scales[j]), -32, 31);
      }
    }
    std::fill_n(b + 96, 12, uint8_t{0});
    store_f16(b + 108, d);
    for (int j = 0; j < 16; ++j) {
      pack_scale_q3(b + 96, j, rounded[j]);
      requantise(x + 16 * j, 16, load_f16(b + 108) * static_cast<float>(rounded[j]), 0, -4, 3, levels + 16 * j);
    }
    std::fill_n(b, 32, uint8_t{0});
    for (int i = 0; i < kSuper; ++i) b[i % 32] |= static_cast<uint8_t>((levels[i] >> 2) << (i / 32));
    pack_quads(levels, 0, b + 32);
  }
}

void quantise_q4_k(const float* x, int64_t width, const float* importance, uint8_t* b) {
  uint8_t levels[kSuper];
  for (int64_t at = 0; at < width; at += kSuper, x += kSuper, b += 144) {
    const Affine a = affine_super_block(x, importance ? importance + at : nullptr, 32, 15, 63, levels);
    finish_affine(x, a, 15, b, levels);
    pack_low_nibbles(levels, b + 16);
  }
}

void quantise_q5_k(const float* x, int64_t width, const float* importance, uint8_t* b) {
  uint8_t levels[kSuper];
  for (int64_t at = 0; at < width; at += kSuper, x += kSuper, b += 176) {
    const Affine a = affine_super_block(x, importance ? importance + at : nullptr, 32, 31, 63, levels);
    finish_affine(x, a, 31, b, levels);
    std::fill_n(b + 16, 32, uint8_t{0});
    for (int i = 0; i < kSuper; ++i) b[16 + i % 32] |= static_cast<uint8_t>((levels[i] >> 4) << (i / 32));
    pack_low_nibbles(levels, b + 48);
  }
}

void quantise_q6_k(const float* x, int64_t width, const float* importance, uint8_t* b) {
  uint8_t levels[kSuper];
  for (int64_t at = 0; at < width; at += kSuper, x += kSuper, b += 210) {
    float scales[16], extreme = 0;
    for (int j = 0; j < 16; ++j) {
      const float* weights = importance ? importance + at + 16 * j : nullptr;
      scales[j] = search_symmetric(16, 32, x + 16 * j, weights, levels + 16 * j);
      if (std::fabs(scales[j]) > std::fabs(extreme)) extreme = scales[j];
    }
    std::fill_n(b, 210, uint8_t{0});
    if (std::fabs(extreme) < kTiny) continue;
    const float inverse = -128.f / extreme;
    store_f16(b + 208, 1 / inverse);
    for (int j = 0; j < 16; ++j) {
      const int scale = std::clamp(nearest(inverse * scales[j]), -128, 127);
      b[192 + j] = static_cast<uint8_t>(scale);
      requantise(x + 16 * j, 16, load_f16(b + 208) * static_cast<float>(scale), 0, -32, 31, levels + 16 * j);
    }
    for (int i = 0; i < 128; ++i) {
      const uint8_t* pair = levels + 128 * (i / 64) + i % 64;
      b[i] = static_cast<uint8_t>((pair[0] & 15) | (pair[64] & 15) << 4);
    }
    pack_quads(levels, 4, b + 128);
  }
}

}  // namespace gesso::quant
