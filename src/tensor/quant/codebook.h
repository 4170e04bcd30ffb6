#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace gesso::quant {

/// A codebook of the IQ types as quantisers need it: the entry that has given levels, and where none has, the entries
/// near to them.
class Codebook {
 public:
  /// `entries` hold `fields` levels each, of `bits` bits from the lowest up, below `values`. Near are those at the
  /// `tiers` least distances that occur.
  Codebook(std::span<const uint16_t> entries, int fields, int bits, int values, int tiers);

  int fields() const { return fields_; }
  int size() const { return static_cast<int>(levels_.size()) / fields_; }
  const uint8_t* levels(int entry) const { return &levels_[static_cast<size_t>(entry * fields_)]; }
  /// -1 where no entry is equal.
  int find(const uint8_t* levels) const { return index_[pack(levels)]; }
  /// Nearer ones first, of equally near ones the first of the codebook; for levels that find() does not have.
  std::span<const uint16_t> near(const uint8_t* levels) const;

 private:
  size_t pack(const uint8_t* levels) const;

  int fields_, bits_;
  std::vector<uint8_t> levels_;    ///< of all entries
  std::vector<int16_t> index_;     ///< by packed levels
  std::vector<uint32_t> begins_;   ///< of the neighbours of packed levels; one more at the end
  std::vector<uint16_t> entries_;  ///< neighbours, one list after the other
};

/// Made at first use, which takes some hundredths of a second.
const Codebook &codebook_iq1(), &codebook_iq2_xxs(), &codebook_iq2_xs(), &codebook_iq2_s(), &codebook_iq3_xxs(),
    &codebook_iq3_s();

}  // namespace gesso::quant
