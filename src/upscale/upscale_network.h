#pragma once
#include "tensor/tensor.h"

namespace gesso {

/// A network that makes pictures larger.
class UpscaleNetwork {
 public:
  virtual ~UpscaleNetwork() = default;
  /// Pixels of the result for one of the picture, along a side.
  virtual int scale() const = 0;
  /// Width and height of what it takes are multiples of this.
  virtual int unit() const = 0;
  /// How many pixels away, at most, a pixel of the picture can change the result: further from the border of a part of
  /// a picture, the result is that of the whole.
  virtual int reach() const = 0;
  /// x [n, h, w, 3] in [0, 1] -> [n, scale h, scale w, 3] in about [0, 1], both f32; between them the network computes
  /// in that type. (bf16 has fewer steps near 1 than a picture of 8 bits.)
  virtual Tensor operator()(const Tensor& x, DType compute) const = 0;
};

}  // namespace gesso
