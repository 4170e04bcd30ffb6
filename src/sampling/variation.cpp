#include "sampling/variation.h"

#include <algorithm>
#include <cmath>

namespace gesso {
namespace {

constexpr double kParallel = 0.9995;  // where the mean cosine is above it, the reference does not turn but mix

/// Index of the first row's value of column `i`, of all columns of all channels.
size_t column_start(const Latent& x, size_t i) {
  const auto width = static_cast<size_t>(x.width), height = static_cast<size_t>(x.height);
  return i / width * width * height + i % width;
}

double cosine(const Latent& a, const Latent& b, size_t start) {
  double dot = 0, aa = 0, bb = 0;
  for (int row = 0; row < a.height; ++row) {
    const size_t at = start + static_cast<size_t>(row) * static_cast<size_t>(a.width);
    const double p = a.values[at], q = b.values[at];
    dot += p * q, aa += p * p, bb += q * q;
  }
  return aa > 0 && bb > 0 ? std::clamp(dot / std::sqrt(aa * bb), -1.0, 1.0) : 1;
}

}  // namespace

Latent varied(const Latent& noise, const Latent& other, double strength) {
  if (strength <= 0) return noise;
  const size_t columns = static_cast<size_t>(noise.channels) * static_cast<size_t>(noise.width);
  std::vector<double> cosines(columns);
  double mean = 0;
  for (size_t i = 0; i < columns; ++i) {
    cosines[i] = cosine(noise, other, column_start(noise, i));
    mean += cosines[i] / static_cast<double>(columns);
  }
  // The reference weighs the two the other way round here; they are nearly the same.
  if (mean > kParallel) return weighted_sum(strength, noise, 1 - strength, other);
  Latent result = noise;
  for (size_t i = 0; i < columns; ++i) {
    const double angle = std::acos(cosines[i]), sine = std::sin(angle);
    // Columns in one line, which latents of one row have: nothing to turn, and the reference gives NaN.
    const bool in_line = sine < 1e-6;
    const double a = in_line ? 1 - strength : std::sin((1 - strength) * angle) / sine;
    const double b = in_line ? strength : std::sin(strength * angle) / sine;
    for (int row = 0; row < noise.height; ++row) {
      const size_t at = column_start(noise, i) + static_cast<size_t>(row) * static_cast<size_t>(noise.width);
      result.values[at] = static_cast<float>(a * noise.values[at] + b * other.values[at]);
    }
  }
  return result;
}

}  // namespace gesso
