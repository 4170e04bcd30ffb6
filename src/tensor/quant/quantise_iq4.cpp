// IQ4_NL and IQ4_XS: 16 fixed, unevenly spaced levels times a scale.
#include <cmath>

#include "tensor/quant/bits.h"
#include "tensor/quant/grids.h"
#include "tensor/quant/quantise.h"
#include "tensor/quant/search.h"

namespace gesso::quant {
namespace {

/// The nearest of the levels; of two equally near the upper one.
int nearest_level(float x) {
  int low = 0, high = 15;
  if (x <= static_cast<float>(kLevelsIQ4[0])) return 0;
  if (x >= static_cast<float>(kLevelsIQ4[15])) return 15;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (x < static_cast<float>(kLevelsIQ4[middle]) ? high : low) = middle;
  }
  return x - static_cast<float>(kLevelsIQ4[high - 1]) < static_cast<float>(kLevelsIQ4[high]) - x ? high - 1 : high;
}

/// The scale of 32 values with the least weighted squared error, of fifteen around the largest value's.
float best_scale(const float* x, const float* weights) {
  float largest = 0, extreme = 0;
  for (int i = 0; i < 32; ++i)
    if (std::fabs(x[i]) > largest) largest = std::fabs(x[i]), extreme = x[i];
  if (largest < kTiny) return 0;
  float d = -extreme / static_cast<float>(kLevelsIQ4[0]), best = 0;
  const auto try_inverse = [&](float inverse, bool first) {
    float qx = 0, qq = 0;
    for (int i = 0; i < 32; ++i) {
      const auto q = static_cast<float>(kLevelsIQ4[nearest_level(inverse * x[i])]);
      qx += weights[i] * q * x[i];
      qq += weights[i] * q * q;
    }
    if (first) {
      d = qq > 0 ? qx / qq : 0.f;
      best = d * qx;
    } else if (qq > 0 && qx * qx > best * qq) {
      d = qx / qq;
      best = d * qx;
    }
  };
  try_inverse(1 / d, true);
  for (int step = -7; step <= 7; ++step) try_inverse(static_cast<float>(step + kLevelsIQ4[0]) / extreme, false);
  return d;
}

void weigh(const float* x, const float* importance, float variance, float* weights) {
  for (int i = 0; i < 32; ++i) {
    const float square = x[i] * x[i];
    weights[i] = importance ? importance[i] * std::sqrt(variance + square) : square;
  }
}

float twice_mean_square(const float* x, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += x[i] * x[i];
  return sum * (2.f / static_cast<float>(count));
}

void pack(const float* x, float d, uint8_t* target) {
  const float inverse = d != 0 ? 1 / d : 0.f;
  for (int i = 0; i < 16; ++i)
    target[i] = static_cast<uint8_t>(nearest_level(inverse * x[i]) | nearest_level(inverse * x[i + 16]) << 4);
}

}  // namespace

void quantise_iq4_nl(const float* x, int64_t width, const float* importance, uint8_t* b) {
  float weights[32];
  for (int64_t at = 0; at < width; at += 32, x += 32, b += 18) {
    weigh(x, importance ? importance + at : nullptr, twice_mean_square(x, 32), weights);
    const float d = best_scale(x, weights);
    store_f16(b, d);
    pack(x, d, b + 2);
  }
}

void quantise_iq4_xs(const float* x, int64_t width, const float* importance, uint8_t* b) {
  float weights[32], scales[8];
  for (int64_t at = 0; at < width; at += kSuper, x += kSuper, b += 136) {
    const float variance = twice_mean_square(x, kSuper);
    float extreme = 0;
    for (int j = 0; j < 8; ++j) {
      weigh(x + 32 * j, importance ? importance + at + 32 * j : nullptr, variance, weights);
      scales[j] = best_scale(x + 32 * j, weights);
      if (std::fabs(scales[j]) > std::fabs(extreme)) extreme = scales[j];
    }
    const float d = -extreme / 32, inverse = d != 0 ? 1 / d : 0.f;
    store_f16(b, d);
    std::fill_n(b + 2, 6, uint8_t{0});
    for (int j = 0; j < 8; ++j) {
      const int scale = std::clamp(nearest(inverse * scales[j]), -32, 31), bits = scale + 32;
      b[4 + j / 2] |= static_cast<uint8_t>((bits & 15) << (4 * (j % 2)));
      b[2 + j / 4] |= static_cast<uint8_t>((bits >> 4) << (2 * (j % 4)));
      pack(x + 32 * j, d * static_cast<float>(scale), b + 8 + 16 * j);
    }
  }
}

}  // namespace gesso::quant
