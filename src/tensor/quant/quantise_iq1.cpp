// IQ1_S and IQ1_M: eight elements are an entry of a codebook of -1, 0 and 1, all shifted by an eighth up or down, times
// a scale.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tensor/quant/bits.h"
#include "tensor/quant/codebook.h"
#include "tensor/quant/quantise.h"

namespace gesso::quant {
namespace {

constexpr float kShift = 0.125f;
/// What the levels 0, 1, 2 are when shifted up, and down.
using Levels = std::array<float, 3>;
constexpr Levels kUp{-1 + kShift, kShift, 1 + kShift}, kDown{-1 - kShift, -kShift, 1 - kShift};

/// A sub-block of 32 (IQ1_S) or 16 (IQ1_M) elements in levels.
struct Part {
  uint8_t levels[32];
  bool up[4];  ///< of each group of eight
  uint16_t entries[4];
  float scale = 0;
};

/// Where the sorted values part into levels 0, 1 and 2, with what shifts, and the scale that is best then.
struct Split {
  int first = -1, second = -1;
  unsigned downs = 0;  ///< which halves are shifted down
  float scale = 0, score = -std::numeric_limits<float>::max();

  void take(float qx, float qq, int i1, int i2, unsigned d) {
    if (!(qq > 0 && qx * qx > score * qq)) return;
    scale = qx / qq;
    score = scale * qx;
    first = i1;
    second = i2;
    downs = d;
  }
};

void weigh(const float* x, const float* importance, float variance, int count, bool plain, float* weights) {
  for (int i = 0; i < count; ++i) {
    const float square = x[i] * x[i];
    weights[i] = importance ? importance[i] * std::sqrt(variance + square)
                 : plain    ? square
                            : std::sqrt(variance + square);
  }
}

float twice_mean_square(const float* x) {
  float sum = 0;
  for (int i = 0; i < kSuper; ++i) sum += x[i] * x[i];
  return 2 * sum / kSuper;
}

/// The indices of the values in ascending order.
template <size_t count>
std::array<int, count> ascending(const float* x) {
  std::array<int, count> order;
  for (size_t i = 0; i < count; ++i) order[i] = static_cast<int>(i);
  std::ranges::stable_sort(order, [x](int a, int b) { return x[a] < x[b]; });
  return order;
}

/// The best split of 32 values that share a shift.
Split split_whole(const float* x, const float* weights, const std::array<int, 32>& order) {
  constexpr int n = 32;
  float xs[n + 1] = {}, ws[n + 1] = {};
  for (int j = 0; j < n; ++j) {
    const int i = order[static_cast<size_t>(j)];
    xs[j + 1] = xs[j] + weights[i] * x[i];
    ws[j + 1] = ws[j] + weights[i];
  }
  Split best;
  for (int i1 = 0; i1 <= n; ++i1)
    for (int i2 = i1; i2 <= n; ++i2)
      for (const unsigned down : {0u, 3u}) {
        const Levels& l = down ? kDown : kUp;
        const float qx = (xs[i1] - xs[0]) * l[0] + (xs[i2] - xs[i1]) * l[1] + (xs[n] - xs[i2]) * l[2];
        const float qq =
            (ws[i1] - ws[0]) * l[0] * l[0] + (ws[i2] - ws[i1]) * l[1] * l[1] + (ws[n] - ws[i2]) * l[2] * l[2];
        best.take(qx, qq, i1, i2, down);
      }
  return best;
}

/// The best split of 16 values whose halves have a shift each.
Split split_halves(const float* x, const float* weights, const std::array<int, 16>& order) {
  constexpr int n = 16;
  Split best;
  for (int i1 = 0; i1 <= n; ++i1)
    for (int i2 = i1; i2 <= n; ++i2) {
      float qx[4] = {}, qq[4] = {};
      for (int j = 0; j < n; ++j) {
        const int i = order[static_cast<size_t>(j)], level = j < i1 ? 0 : j < i2 ? 1 : 2;
        for (unsigned downs = 0; downs < 4; ++downs) {
          // bit 1 of the choice is the first half's shift, bit 0 the second's
          const float q = (downs >> (i < n / 2 ? 1 : 0) & 1 ? kDown : kUp)[static_cast<size_t>(level)];
          qx[downs] += weights[i] * q * x[i];
          qq[downs] += weights[i] * q * q;
        }
      }
      for (unsigned downs = 0; downs < 4; ++downs) best.take(qx[downs], qq[downs], i1, i2, downs);
    }
  return best;
}

/// The entry of least weighted error among those near to levels that no entry has.
int nearest_entry(const Codebook& book, const uint8_t* levels, const float* x, const float* weights, float scale,
                  const Levels& values) {
  const auto near = book.near(levels);
  float least = std::numeric_limits<float>::max();
  int best = near.front();
  for (const uint16_t entry : near) {
    float error = 0;
    for (int i = 0; i < 8; ++i) {
      const float difference = scale * values[book.levels(entry)[i]] - x[i];
      error += weights[i] * difference * difference;
    }
    if (error < least) least = error, best = entry;
  }
  return best;
}

/// Finds the entries for a split, and the scale that fits them best.
template <size_t count>
Part settle(const float* x, const float* weights, const std::array<int, count>& order, const Split& split) {
  Part part;
  if (split.first < 0) return part;
  for (size_t j = 0; j < count; ++j) {
    const int at = static_cast<int>(j);
    part.levels[order[j]] = at < split.first ? 0 : at < split.second ? 1 : 2;
  }
  part.scale = split.scale;
  unsigned downs = split.downs;
  if (part.scale < 0) {
    for (size_t i = 0; i < count; ++i) part.levels[i] = static_cast<uint8_t>(2 - part.levels[i]);
    part.scale = -part.scale;
    downs ^= 3;
  }
  const Codebook& book = codebook_iq1();
  const auto values = [&](size_t group) -> const Levels& { return part.up[group] ? kUp : kDown; };
  bool all_there = true;
  for (size_t k = 0; k < count / 8; ++k) {
    part.up[k] = !(downs >> (k == 0 ? 1 : 0) & 1);
    int entry = book.find(part.levels + 8 * k);
    if (entry < 0) {
      all_there = false;
      entry = nearest_entry(book, part.levels + 8 * k, x + 8 * k, weights + 8 * k, part.scale, values(k));
    }
    part.entries[k] = static_cast<uint16_t>(entry);
  }
  if (all_there) return part;
  float qx = 0, qq = 0;
  for (size_t i = 0; i < count; ++i) {
    const float q = values(i / 8)[book.levels(part.entries[i / 8])[i % 8]];
    qx += weights[i] * q * x[i];
    qq += weights[i] * q * q;
  }
  if (qx > 0 && qq > 0) part.scale = qx / qq;
  return part;
}

/// Whether everything in a sub-block is as good as zero.
bool is_tiny(const float* x, int count, float tiny) {
  return std::all_of(x, x + count, [tiny](float v) { return std::fabs(v) < tiny; });
}

int scale_level(float scale, float inverse) {
  return std::clamp(nearest(0.5f * (inverse * scale - 1)), 0, 7);
}

}  // namespace

void quantise_iq1_s(const float* x, int64_t width, const float* importance, uint8_t* b) {
  for (int64_t at = 0; at < width; at += kSuper, x += kSuper, b += 50) {
    std::fill_n(b, 50, uint8_t{0});
    const float variance = twice_mean_square(x);
    float scales[8] = {}, largest = 0;
    uint16_t high[8] = {};
    for (int j = 0; j < 8; ++j) {
      const float* xs = x + 32 * j;
      if (is_tiny(xs, 32, 1e-12f)) continue;
      float weights[32];
      weigh(xs, importance ? importance + at + 32 * j : nullptr, variance, 32, false, weights);
      const auto order = ascending<32>(xs);
      const Part part = settle(xs, weights, order, split_whole(xs, weights, order));
      if (!(part.scale > 0)) continue;
      for (int k = 0; k < 4; ++k) {
        b[2 + 4 * j + k] = static_cast<uint8_t>(part.entries[k]);
        high[j] |= static_cast<uint16_t>((part.entries[k] >> 8) << (3 * k));
      }
      if (!part.up[0]) high[j] |= 0x8000;
      scales[j] = part.scale;
      largest = std::max(largest, part.scale);
    }
    if (!(largest > 0)) continue;
    const float d = largest / 15, inverse = 1 / d;
    store_f16(b, d * 1.125f);
    for (int j = 0; j < 8; ++j) {
      high[j] |= static_cast<uint16_t>(scale_level(scales[j], inverse) << 12);
      std::memcpy(b + 34 + 2 * j, &high[j], sizeof high[j]);
    }
  }
}

void quantise_iq1_m(const float* x, int64_t width, const float* importance, uint8_t* b) {
  const Codebook& book = codebook_iq1();
  for (int64_t at = 0; at < width; at += kSuper, x += kSuper, b += 56) {
    std::fill_n(b, 56, uint8_t{0});
    const float variance = twice_mean_square(x);
    const auto weights_of = [&](int j, float* weights) {
      weigh(x + 16 * j, importance ? importance + at + 16 * j : nullptr, variance, 16, true, weights);
    };
    Part parts[16];
    float largest = 0, weights[16];
    for (int j = 0; j < 16; ++j) {
      const float* xs = x + 16 * j;
      std::fill_n(parts[j].up, 4, true);
      std::fill_n(parts[j].entries, 4, uint16_t{0});
      if (is_tiny(xs, 16, 1e-7f)) continue;
      weights_of(j, weights);
      const auto order = ascending<16>(xs);
      const Part part = settle(xs, weights, order, split_halves(xs, weights, order));
      if (!(part.scale > 0)) continue;
      parts[j] = part;
      largest = std::max(largest, part.scale);
    }
    if (!(largest > 0)) continue;
    float d = largest / 15, qx = 0, qq = 0;
    const float inverse = 1 / d;
    uint16_t words[4] = {};
    for (int j = 0; j < 16; ++j) {
      const Part& part = parts[j];
      const int level = scale_level(part.scale, inverse);
      words[j / 4] |= static_cast<uint16_t>(level << (3 * (j % 4)));
      weights_of(j, weights);
      for (int k = 0; k < 2; ++k) {
        b[2 * j + k] = static_cast<uint8_t>(part.entries[k]);
        b[32 + j] |= static_cast<uint8_t>((part.entries[k] >> 8 | (part.up[k] ? 0 : 8)) << (4 * k));
        for (int i = 8 * k; i < 8 * k + 8; ++i) {
          const float q =
              (part.up[k] ? kUp : kDown)[book.levels(part.entries[k])[i % 8]] * static_cast<float>(2 * level + 1);
          qx += weights[i] * q * x[16 * j + i];
          qq += weights[i] * q * q;
        }
      }
    }
    if (qq > 0) d = qx / qq;
    const uint16_t bits = f32_to_f16(d * 1.1125f);  // lies in the top four bits of the four words of scales
    for (int i = 0; i < 4; ++i) {
      words[i] |= static_cast<uint16_t>((bits >> (4 * i) & 15) << 12);
      std::memcpy(b + 48 + 2 * i, &words[i], sizeof words[i]);
    }
  }
}

}  // namespace gesso::quant
