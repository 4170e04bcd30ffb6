// IQ2 and IQ3: magnitudes are entries of a codebook, 8 or 4 at a time, times signs and scales.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/quant/bits.h"
#include "tensor/quant/codebook.h"
#include "tensor/quant/quantise.h"
#include "tensor/quant/search.h"

namespace gesso::quant {
namespace {

/// Which groups are rounded anew when the scale is found.
enum class Again { kOffBook, kAllIfOneIsOff, kAll };

/// What tells one type's search from the others'. Elements are scale * (2 level + 1), level in [0, top].
struct Spec {
  const Codebook& book;
  int size;  ///< of a sub-block, which has one scale
  int top;
  bool even_signs;  ///< only even numbers of negative signs among eight can be stored
  float tiny;       ///< sub-blocks below are zeros
  int steps;        ///< scales tried on either side
  float step;
  float spread;  ///< of the variance that is added to each square in its weight
  Again again;
  float factor;  ///< on the super-block's scale: rounding makes values a little too small, or too large
};

/// A super-block in parts that its type packs.
struct Super {
  uint16_t entries[64] = {};  ///< of the codebook, one for each group
  uint8_t signs[32] = {};     ///< of eight elements each
  uint8_t scales[16] = {};    ///< of the sub-blocks, in [0, 15]
  float d = 0;
};

/// A sub-block without its signs.
struct Part {
  float x[32], weights[32], roots[32];
  uint8_t signs[4];
};

void weigh(const Spec& spec, const float* x, const float* importance, float variance, Part& part) {
  for (int i = 0; i < spec.size; ++i) {
    const float square = x[i] * x[i];
    // Without importance: the two-bit types with an even number of signs have no rule of their own, all columns count
    // as one.
    part.weights[i] = importance        ? importance[i] * std::sqrt(variance + square)
                      : spec.top == 7   ? square
                      : spec.even_signs ? std::sqrt(variance + square)
                                        : 0.25f * variance + square;
    part.roots[i] = std::sqrt(part.weights[i]);
  }
}

/// Takes the signs off. An odd number becomes even at the element where that costs least, which is then negative.
void take_signs(const Spec& spec, const float* x, Part& part) {
  for (int k = 0; k < spec.size / 8; ++k) {
    unsigned signs = 0;
    for (int i = 8 * k; i < 8 * k + 8; ++i) {
      part.x[i] = x[i] >= 0 ? x[i] : -x[i];
      if (!(x[i] >= 0)) signs |= 1u << (i % 8);
    }
    if (spec.even_signs && __builtin_parity(signs)) {
      int least = 8 * k;
      const auto cost = [&](int i) { return part.weights[i] * x[i] * x[i]; };
      for (int i = 8 * k + 1; i < 8 * k + 8; ++i)
        if (cost(i) < cost(least)) least = i;
      part.x[least] = -part.x[least];
      signs ^= 1u << (least % 8);
    }
    part.signs[k] = static_cast<uint8_t>(signs);
  }
}

/// The levels of a group at a scale, those of an entry near to them where none has them. Whether one had them.
bool round_group(const Codebook& book, int top, const float* x, const float* roots, float inverse, float scale,
                 uint8_t* levels) {
  for (int i = 0; i < book.fields(); ++i)
    levels[i] = static_cast<uint8_t>(std::clamp(nearest(0.5f * (inverse * x[i] - 1)), 0, top));
  if (book.find(levels) >= 0) return true;
  const auto near = book.near(levels);
  float least = std::numeric_limits<float>::max();
  int best = near.front();
  for (const uint16_t entry : near) {
    float error = 0;
    for (int i = 0; i < book.fields(); ++i) {
      const float difference = scale * static_cast<float>(2 * book.levels(entry)[i] + 1) - x[i];
      error += roots[i] * difference * difference;
    }
    if (error < least) least = error, best = entry;
  }
  std::copy_n(book.levels(best), book.fields(), levels);
  return false;
}

/// Sums whose quotient is the best scale for given levels.
struct Fit {
  float qx = 0, qq = 0;
  Fit(const Part& part, int size, const uint8_t* levels) {
    for (int i = 0; i < size; ++i) {
      const auto q = static_cast<float>(2 * levels[i] + 1);
      qx += part.weights[i] * part.x[i] * q;
      qq += part.weights[i] * q * q;
    }
  }
};

/// The levels of a sub-block, and its scale.
float search(const Spec& spec, const Part& part, float largest, uint8_t* levels) {
  const int fields = spec.book.fields(), groups = spec.size / fields;
  const auto unit = static_cast<float>(2 * spec.top + 1);
  float divisor = largest, scale = largest / unit, best = 0;
  if (spec.again == Again::kAll) {  // IQ2_XXS begins with a scale for whole levels
    scale = search_positive(spec.size, spec.top + 2, part.x, part.weights, levels);
    divisor = scale * static_cast<float>(spec.top + 1);
    if (divisor <= 0) return 0;
  }
  std::fill_n(levels, spec.size, uint8_t{0});
  uint8_t tried[32];
  bool on_book[8], tried_on_book[8];
  std::fill_n(on_book, 8, spec.again != Again::kAllIfOneIsOff);
  for (int step = -spec.steps; step <= spec.steps; ++step) {
    const float inverse = (unit + static_cast<float>(step) * spec.step) / divisor;
    for (int k = 0, at = 0; k < groups; ++k, at += fields)
      tried_on_book[k] =
          round_group(spec.book, spec.top, part.x + at, part.roots + at, inverse, 1 / inverse, tried + at);
    const Fit fit(part, spec.size, tried);
    if (!(fit.qq > 0 && fit.qx * fit.qx > best * fit.qq)) continue;
    scale = fit.qx / fit.qq;
    best = scale * fit.qx;
    std::copy_n(tried, spec.size, levels);
    std::copy_n(tried_on_book, groups, on_book);
  }
  const bool off = std::find(on_book, on_book + groups, false) != on_book + groups;
  if (scale > 0 && (off || spec.again == Again::kAll)) {
    for (int k = 0, at = 0; k < groups; ++k, at += fields)
      if (!on_book[k] || spec.again != Again::kOffBook)
        round_group(spec.book, spec.top, part.x + at, part.roots + at, 1 / scale, scale, levels + at);
    if (const Fit fit(part, spec.size, levels); fit.qq > 0) scale = fit.qx / fit.qq;
  }
  return scale;
}

Super search_super(const Spec& spec, const float* x, const float* importance) {
  float sum = 0;
  for (int i = 0; i < kSuper; ++i) sum += x[i] * x[i];
  const float variance = spec.spread * sum / kSuper;
  const int count = kSuper / spec.size, fields = spec.book.fields();
  Super result;
  float scales[16] = {}, largest_scale = 0;
  for (int j = 0; j < count; ++j) {
    Part part;
    weigh(spec, x + j * spec.size, importance ? importance + j * spec.size : nullptr, variance, part);
    take_signs(spec, x + j * spec.size, part);
    const float largest = *std::max_element(part.x, part.x + spec.size);
    if (!(largest >= spec.tiny)) continue;
    uint8_t levels[32];
    scales[j] = search(spec, part, largest, levels);
    if (scales[j] == 0) continue;
    const bool negative = scales[j] < 0;
    scales[j] = std::fabs(scales[j]);
    for (int k = 0; k < spec.size / fields; ++k)  // -1 only after a search among NaN
      result.entries[j * spec.size / fields + k] =
          static_cast<uint16_t>(std::max(0, spec.book.find(levels + k * fields)));
    for (int k = 0; k < spec.size / 8; ++k)
      result.signs[j * spec.size / 8 + k] = static_cast<uint8_t>(negative ? ~part.signs[k] : part.signs[k]);
    largest_scale = std::max(largest_scale, scales[j]);
  }
  if (!(largest_scale > 0)) return {};
  const float d = largest_scale / 31, inverse = 1 / d;
  for (int j = 0; j < count; ++j)
    result.scales[j] = static_cast<uint8_t>(std::clamp(nearest(0.5f * (inverse * scales[j] - 1)), 0, 15));
  result.d = d * spec.factor;
  return result;
}

template <typename Pack>
void each_super(const Spec& spec, const float* x, int64_t width, const float* importance, uint8_t* b, int bytes,
                const Pack& pack) {
  for (int64_t at = 0; at < width; at += kSuper, b += bytes) {
    const Super super = search_super(spec, x + at, importance ? importance + at : nullptr);
    std::fill_n(b, bytes, uint8_t{0});
    store_f16(b, super.d);
    pack(super, b);
  }
}

/// Seven signs of each of four groups, and a scale.
void store_signs_and_scale(const Super& super, int j, uint8_t* target) {
  uint32_t packed = static_cast<uint32_t>(super.scales[j]) << 28;
  for (int k = 0; k < 4; ++k) packed |= static_cast<uint32_t>(super.signs[4 * j + k] & 127) << (7 * k);
  std::memcpy(target, &packed, sizeof packed);
}

void store_nibbles(const uint8_t* scales, int count, uint8_t* target) {
  for (int j = 0; j < count; ++j) target[j / 2] |= static_cast<uint8_t>(scales[j] << (4 * (j % 2)));
}

constexpr float kAnything = std::numeric_limits<float>::denorm_min();

}  // namespace

void quantise_iq2_xxs(const float* x, int64_t width, const float* importance, uint8_t* b) {
  const Spec spec{codebook_iq2_xxs(), 32, 2, true, kTiny, 6, 0.1f, 1, Again::kAll, 1};
  each_super(spec, x, width, importance, b, 66, [](const Super& super, uint8_t* block) {
    for (int j = 0; j < 8; ++j) {
      for (int k = 0; k < 4; ++k) block[2 + 8 * j + k] = static_cast<uint8_t>(super.entries[4 * j + k]);
      store_signs_and_scale(super, j, block + 2 + 8 * j + 4);
    }
  });
}

void quantise_iq2_xs(const float* x, int64_t width, const float* importance, uint8_t* b) {
  const Spec spec{codebook_iq2_xs(), 16, 2, true, kTiny, 9, 0.1f, 1, Again::kOffBook, 1};
  each_super(spec, x, width, importance, b, 74, [](const Super& super, uint8_t* block) {
    for (int k = 0; k < 32; ++k) {
      const auto packed = static_cast<uint16_t>(super.entries[k] | (super.signs[k] & 127) << 9);
      std::memcpy(block + 2 + 2 * k, &packed, sizeof packed);
    }
    store_nibbles(super.scales, 16, block + 66);
  });
}

void quantise_iq2_s(const float* x, int64_t width, const float* importance, uint8_t* b) {
  const Spec spec{codebook_iq2_s(), 16, 2, false, 1e-8f, 9, 0.1f, 2, Again::kOffBook, 0.9875f};
  each_super(spec, x, width, importance, b, 82, [](const Super& super, uint8_t* block) {
    for (int k = 0; k < 32; ++k) {
      block[2 + k] = static_cast<uint8_t>(super.entries[k]);
      block[34 + k] = super.signs[k];
      block[66 + k / 4] |= static_cast<uint8_t>((super.entries[k] >> 8) << (2 * (k % 4)));
    }
    store_nibbles(super.scales, 16, block + 74);
  });
}

void quantise_iq3_xxs(const float* x, int64_t width, const float* importance, uint8_t* b) {
  const Spec spec{codebook_iq3_xxs(), 32, 7, true, 1e-8f, 15, 0.2f, 2, Again::kOffBook, 1.0125f};
  each_super(spec, x, width, importance, b, 98, [](const Super& super, uint8_t* block) {
    for (int k = 0; k < 64; ++k) block[2 + k] = static_cast<uint8_t>(super.entries[k]);
    for (int j = 0; j < 8; ++j) store_signs_and_scale(super, j, block + 66 + 4 * j);
  });
}

void quantise_iq3_s(const float* x, int64_t width, const float* importance, uint8_t* b) {
  const Spec spec{codebook_iq3_s(), 32, 7, false, kAnything, 9, 0.2f, 2, Again::kAllIfOneIsOff, 1.033f};
  each_super(spec, x, width, importance, b, 110, [](const Super& super, uint8_t* block) {
    for (int k = 0; k < 64; ++k) {
      block[2 + k] = static_cast<uint8_t>(super.entries[k]);
      block[66 + k / 8] |= static_cast<uint8_t>((super.entries[k] >> 8) << (k % 8));
    }
    std::copy_n(super.signs, 32, block + 74);
    store_nibbles(super.scales, 8, block + 106);
  });
}

}  // namespace gesso::quant
