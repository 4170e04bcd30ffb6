#include "tensor/quant/search.h"

#include <algorithm>
#include <cmath>

#include "tensor/quant/bits.h"

namespace gesso::quant {
namespace {

int bounded(float v, int low, int high) {
  return std::clamp(nearest(v), low, high);
}

/// The value of largest magnitude, the first of equals.
float extreme(int count, const float* x) {
  float best = 0, magnitude = 0;
  for (int i = 0; i < count; ++i)
    if (const float a = std::fabs(x[i]); a > magnitude) magnitude = a, best = x[i];
  return best;
}

/// Sums over w x l and w l l, whose quotient is the best scale for given levels l.
struct Fit {
  float xl = 0, ll = 0;

  void add(float w, float x, int l) {
    const auto level = static_cast<float>(l);
    xl += w * x * level;
    ll += w * level * level;
  }
  Fit without(float w, float x, int l) const {
    const auto level = static_cast<float>(l);
    return {xl - w * x * level, ll - w * level * level};
  }
  bool beats(const Fit& other) const { return xl * xl * other.ll > other.xl * other.xl * ll; }
  float scale() const { return ll > 0 ? xl / ll : 0.f; }
};

}  // namespace

float search_symmetric(int count, int top, const float* x, const float* weights, uint8_t* levels) {
  const float largest = extreme(count, x);
  std::fill_n(levels, count, uint8_t{0});
  if (std::fabs(largest) < kTiny) return 0;
  const auto weight = [&](int i) { return weights ? weights[i] : x[i] * x[i]; };
  const auto fit_at = [&](float inverse) {
    Fit fit;
    for (int i = 0; i < count; ++i) fit.add(weight(i), x[i], bounded(inverse * x[i], -top, top - 1));
    return fit;
  };
  const auto keep = [&](float inverse) {
    for (int i = 0; i < count; ++i) levels[i] = static_cast<uint8_t>(bounded(inverse * x[i], -top, top - 1) + top);
  };
  const float first = static_cast<float>(-top) / largest;
  Fit fit = fit_at(first);
  keep(first);
  float scale = fit.ll != 0 ? fit.xl / fit.ll : 0.f, best = scale * fit.xl;
  for (int step = -9; step <= 9; ++step) {
    if (step == 0) continue;
    const float inverse = -(static_cast<float>(top) + 0.1f * static_cast<float>(step)) / largest;
    fit = fit_at(inverse);
    if (!(fit.ll > 0 && fit.xl * fit.xl > best * fit.ll)) continue;
    keep(inverse);
    scale = fit.xl / fit.ll;
    best = scale * fit.xl;
  }
  return scale;
}

float descend_symmetric(int count, int top, const float* x, uint8_t* levels) {
  const float largest = extreme(count, x);
  std::fill_n(levels, count, uint8_t{0});
  if (std::fabs(largest) < kTiny) return 0;
  const float inverse = static_cast<float>(-top) / largest;
  Fit fit;
  for (int i = 0; i < count; ++i) {
    const int l = bounded(inverse * x[i], -top, top - 1);
    levels[i] = static_cast<uint8_t>(l + top);
    fit.add(x[i] * x[i], x[i], l);
  }
  for (int round = 0; round < 5; ++round) {
    bool changed = false;
    for (int i = 0; i < count; ++i) {
      const float w = x[i] * x[i];
      const int l = levels[i] - top;
      Fit other = fit.without(w, x[i], l);
      if (!(other.xl > 0)) continue;
      const int better = bounded(x[i] * other.ll / other.xl, -top, top - 1);
      if (better == l) continue;
      other.add(w, x[i], better);
      if (!(other.ll > 0 && other.beats(fit))) continue;
      levels[i] = static_cast<uint8_t>(better + top);
      fit = other;
      changed = true;
    }
    if (!changed) break;
  }
  return fit.scale();
}

float search_affine(int count, int top, const float* x, const float* weights, const Sweep& sweep, uint8_t* levels,
                    float& min) {
  float low = x[0], high = x[0], sum_w = weights[0], sum_x = sum_w * x[0];
  for (int i = 1; i < count; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
    sum_w += weights[i];
    sum_x += weights[i] * x[i];
  }
  low = std::min(low, 0.f);
  min = -low;
  if (!(high > low)) {
    std::fill_n(levels, count, uint8_t{0});
    return 0;
  }
  uint8_t tried[32];
  const auto round_to = [&](float inverse, float offset, uint8_t* l) {
    for (int i = 0; i < count; ++i) l[i] = static_cast<uint8_t>(bounded(inverse * (x[i] - offset), 0, top));
  };
  const auto error_of = [&](float s, float offset, const uint8_t* l) {
    float error = 0;
    for (int i = 0; i < count; ++i) {
      const float difference = s * static_cast<float>(l[i]) + offset - x[i];
      error += weights[i] * (sweep.absolute ? std::fabs(difference) : difference * difference);
    }
    return error;
  };
  const float first = static_cast<float>(top) / (high - low);
  float scale = 1 / first, current = low;
  round_to(first, low, levels);
  float best = error_of(scale, low, levels);
  for (int step = 0; step <= sweep.steps; ++step) {
    const float inverse =
        (sweep.first + sweep.step * static_cast<float>(step) + static_cast<float>(top)) / (high - current);
    round_to(inverse, current, tried);
    float sum_l = 0, sum_ll = 0, sum_xl = 0;
    for (int i = 0; i < count; ++i) {
      const auto l = static_cast<float>(tried[i]);
      sum_l += weights[i] * l;
      sum_ll += weights[i] * l * l;
      sum_xl += weights[i] * l * x[i];
    }
    const float determinant = sum_w * sum_ll - sum_l * sum_l;
    if (!(determinant > 0)) continue;
    float s = (sum_w * sum_xl - sum_x * sum_l) / determinant, m = (sum_ll * sum_x - sum_l * sum_xl) / determinant;
    if (m > 0) {
      m = 0;
      s = sum_xl / sum_ll;
    }
    const float error = error_of(s, m, tried);
    if (!(error < best)) continue;
    std::copy_n(tried, count, levels);
    best = error;
    scale = s;
    current = m;
  }
  min = -current;
  return scale;
}

float search_positive(int count, int top, const float* x, const float* weights, uint8_t* levels) {
  std::fill_n(levels, count, uint8_t{0});
  float largest = 0;
  for (int i = 0; i < count; ++i) largest = std::max(largest, x[i]);
  if (largest < kTiny) return 0;
  // Levels of a value below zero are below zero in sums, and wrap around where they are stored: so has the reference.
  const auto level_at = [&](float inverse, int i) { return std::min(nearest(inverse * x[i]), top); };
  const auto error_at = [&](float inverse, bool stored) {
    const float scale = 1 / inverse;
    float error = 0;
    for (int i = 0; i < count; ++i) {
      const int l = level_at(inverse, i);
      const float difference = x[i] - scale * static_cast<float>(stored ? static_cast<uint8_t>(l) : l);
      error += weights[i] * difference * difference;
    }
    return error;
  };
  float inverse = static_cast<float>(top) / largest;
  float best = error_at(inverse, true);
  for (int step = -4; step <= 4; ++step) {
    if (step == 0) continue;
    const float other = (0.1f * static_cast<float>(step) + static_cast<float>(top)) / largest;
    if (const float error = error_at(other, false); error < best) best = error, inverse = other;
  }
  Fit fit;
  for (int i = 0; i < count; ++i) {
    const int l = level_at(inverse, i);
    levels[i] = static_cast<uint8_t>(l);
    fit.add(weights[i], x[i], l);
  }
  for (int round = 0; round < 5; ++round) {
    bool changed = false;
    for (int i = 0; i < count; ++i) {
      Fit other = fit.without(weights[i], x[i], levels[i]);
      if (!(other.xl > 0 && other.ll > 0)) continue;
      const int better = std::min(nearest(x[i] * other.ll / other.xl), top);
      if (better == levels[i]) continue;
      other.add(weights[i], x[i], better);
      if (!other.beats(fit)) continue;
      levels[i] = static_cast<uint8_t>(better);
      fit = other;
      changed = true;
    }
    if (!changed) break;
  }
  return fit.scale();
}

}  // namespace gesso::quant
