#include "tensor/shape.h"

#include <algorithm>

#include "base/error.h"

namespace gesso {

Shape::Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  if (dims.size() > kMaxRank)
    fail(ErrorCode::kUnsupported, "a tensor of {} dimensions: at most {} are supported", dims.size(), kMaxRank);
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

int64_t Shape::elements() const {
  int64_t count = 1;
  for (int64_t d : *this) count *= d;
  return count;
}

bool Shape::operator==(const Shape& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int64_t d : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(d);
  return text + "]";
}

std::optional<int64_t> checked_elements(std::span<const int64_t> dims) {
  int64_t count = 1;
  bool empty = false, overflow = false;
  for (int64_t d : dims) {
    if (d < 0) return std::nullopt;
    if (d == 0)
      empty = true;
    else
      overflow |= __builtin_mul_overflow(count, d, &count);
  }
  if (empty) return 0;
  if (overflow) return std::nullopt;
  return count;
}

}  // namespace gesso
