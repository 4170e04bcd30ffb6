#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace gesso {

/// Extents of a tensor, outermost first, as in PyTorch. At most kMaxRank dimensions, none negative.
class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  /// Extent of an axis; a negative axis counts from the end.
  int64_t operator[](int axis) const { return dims_[static_cast<size_t>(axis < 0 ? axis + rank_ : axis)]; }
  void set(int axis, int64_t extent) { dims_[static_cast<size_t>(axis < 0 ? axis + rank_ : axis)] = extent; }
  /// Number of elements (1 for a scalar). Parsers use checked_elements on untrusted extents first.
  int64_t elements() const;
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  bool operator==(const Shape& other) const;

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

/// "[2, 320, 64, 64]"
std::string to_string(const Shape& shape);

/// The product of non-negative extents, or nothing when one is negative or the product does not fit 63 bits.
std::optional<int64_t> checked_elements(std::span<const int64_t> dims);

}  // namespace gesso
