#include "weights/pattern_weight.h"

#include "base/error.h"
#include "ops/ops.h"

namespace gesso {

std::vector<float> PatternWeight::values() const {
  std::vector<float> values(static_cast<size_t>(shape().elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = pattern(static_cast<int64_t>(i), 0.03f);
  return values;
}

Tensor PatternWeight::read(Device& device, DType dtype) const {
  return cast(from_values(device, values(), shape()), dtype);
}

void PatternWeight::read_rows(std::span<const int32_t>, Tensor&) const {
  fail(ErrorCode::kInternal, "a pattern has no rows to look up");
}

}  // namespace gesso
