#pragma once
#include <cstdint>

namespace gesso::quant {

/// Groups whose largest magnitude is below this are stored as zeros.
inline constexpr float kTiny = 1e-15f;

/// Searches for the scale of `count` values and their integer levels. All follow ggml's reference step by step
/// (ggml-quants.c), so that the same weights give the same bytes; sums are in f32 and in order for that reason.

/// x ~ scale * (level - top), level in [0, 2 top). Tries 19 scales around the largest value's, least weighted squared
/// error; `weights` null: x^2.
float search_symmetric(int count, int top, const float* x, const float* weights, uint8_t* levels);

/// As search_symmetric, by coordinate descent with weights x^2.
float descend_symmetric(int count, int top, const float* x, uint8_t* levels);

/// How search_affine varies the scale: (top + first + i * step) levels over the range, i = 0 ... steps.
struct Sweep {
  float first, step;
  int steps;
  bool absolute;  ///< least absolute rather than least squared error
};

/// x ~ scale * level - min, level in [0, top], min >= 0.
float search_affine(int count, int top, const float* x, const float* weights, const Sweep& sweep, uint8_t* levels,
                    float& min);

/// x ~ scale * level for x >= 0, level in [0, top]. Values below zero are for the scale alone: their levels mean
/// nothing.
float search_positive(int count, int top, const float* x, const float* weights, uint8_t* levels);

}  // namespace gesso::quant
