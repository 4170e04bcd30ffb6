#include "device/device.h"

namespace gesso {

Tensor Device::empty(const Shape& shape, DType dtype) {
  return Tensor(allocate(shape.elements() * size_of(dtype)), dtype, shape);
}

}  // namespace gesso
