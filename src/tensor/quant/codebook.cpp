#include "tensor/quant/codebook.h"

#include <algorithm>
#include <array>

#include "tensor/quant/grids.h"

namespace gesso::quant {
namespace {

constexpr int kMostFields = 8, kFarthest = 4 * 7 * 7;

}  // namespace

Codebook::Codebook(std::span<const uint16_t> entries, int fields, int bits, int values, int tiers)
    : fields_(fields), bits_(bits), index_(size_t{1} << (fields * bits), -1) {
  for (const uint16_t entry : entries) {
    for (int f = 0; f < fields; ++f) levels_.push_back(static_cast<uint8_t>(entry >> (bits * f) & ((1 << bits) - 1)));
    index_[entry] = static_cast<int16_t>(levels_.size() / static_cast<size_t>(fields) - 1);
  }
  std::vector<uint8_t> distances(entries.size());
  for (size_t packed = 0; packed < index_.size(); ++packed) {
    begins_.push_back(static_cast<uint32_t>(entries_.size()));
    std::array<int, kMostFields> point{};
    for (int f = 0; f < fields; ++f)
      point[static_cast<size_t>(f)] = static_cast<int>(packed >> (bits * f)) & ((1 << bits) - 1);
    if (index_[packed] >= 0 || *std::ranges::max_element(point) >= values) continue;
    std::array<bool, kFarthest + 1> occurs{};
    for (size_t e = 0; e < entries.size(); ++e) {
      int distance = 0;
      for (int f = 0; f < fields; ++f) {
        const int d = levels_[e * static_cast<size_t>(fields) + static_cast<size_t>(f)] - point[static_cast<size_t>(f)];
        distance += d * d;
      }
      distances[e] = static_cast<uint8_t>(distance);
      occurs[static_cast<size_t>(distance)] = true;
    }
    for (int distance = 0, tier = 0; distance <= kFarthest && tier < tiers; ++distance) {
      if (!occurs[static_cast<size_t>(distance)]) continue;
      ++tier;
      for (size_t e = 0; e < entries.size(); ++e)
        if (distances[e] == distance) entries_.push_back(static_cast<uint16_t>(e));
    }
  }
  begins_.push_back(static_cast<uint32_t>(entries_.size()));
}

size_t Codebook::pack(const uint8_t* levels) const {
  size_t packed = 0;
  for (int f = 0; f < fields_; ++f) packed |= static_cast<size_t>(levels[f]) << (bits_ * f);
  return packed;
}

std::span<const uint16_t> Codebook::near(const uint8_t* levels) const {
  const size_t packed = pack(levels), begin = begins_[packed];
  return std::span(entries_).subspan(begin, begins_[packed + 1] - begin);
}

const Codebook& codebook_iq1() {
  static const Codebook book(kGridIQ1S, 8, 2, 3, 3);
  return book;
}

const Codebook& codebook_iq2_xxs() {
  static const Codebook book(kGridIQ2XXS, 8, 2, 3, 2);
  return book;
}

const Codebook& codebook_iq2_xs() {
  static const Codebook book(kGridIQ2XS, 8, 2, 3, 2);
  return book;
}

const Codebook& codebook_iq2_s() {
  static const Codebook book(kGridIQ2S, 8, 2, 3, 1);
  return book;
}

const Codebook& codebook_iq3_xxs() {
  static const Codebook book(kGridIQ3XXS, 4, 3, 8, 2);
  return book;
}

const Codebook& codebook_iq3_s() {
  static const Codebook book(kGridIQ3S, 4, 3, 8, 3);
  return book;
}

}  // namespace gesso::quant
