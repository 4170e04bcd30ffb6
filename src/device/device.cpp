#include "device/device.h"

namespace gesso {

Tensor Device::empty(const Shape& shape, DType dtype) {
  return Tensor(allocate(shape.elements() * size_of(dtype)), dtype, shape);
}

Tensor parameter(Device& device, const Weight& w) {
  const auto fits = [&](const Tensor& held) { return &held.device() == &device; };
  return *w->prepared<Tensor>(fits, [&] { return std::make_shared<Tensor>(w->read(device, DType::kF32)); });
}

}  // namespace gesso
