#include "tensor/tensor.h"

#include "base/error.h"

namespace gesso {

Tensor Tensor::reshape(const Shape& shape) const {
  if (shape.elements() != elements())
    fail(ErrorCode::kInternal, "[reshape] {} cannot become {}", to_string(shape_), to_string(shape));
  return Tensor(storage_, dtype_, shape, offset_);
}

Tensor Tensor::slice(int64_t begin, int64_t end) const {
  if (shape_.rank() == 0 || begin < 0 || begin > end || end > shape_[0])
    fail(ErrorCode::kInternal, "[slice] rows {} to {} of {}", begin, end, to_string(shape_));
  Shape shape = shape_;
  shape.set(0, end - begin);
  const int64_t row = shape_[0] == 0 ? 0 : bytes() / shape_[0];
  return Tensor(storage_, dtype_, shape, offset_ + begin * row);
}

}  // namespace gesso
