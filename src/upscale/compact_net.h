#pragma once
#include <vector>

#include "nn/layers.h"
#include "upscale/upscale_network.h"

namespace gesso {

/// SRVGGNetCompact of Real-ESRGAN (Wang et al. 2021; srvgg_arch.py): 3x3 convolutions with PReLU between them at the
/// picture's size, whose last makes the pixels that a pixel becomes, to be added to the pixel repeated. Names: convs.k
/// and slopes.k.
class CompactNet final : public UpscaleNetwork {
 public:
  /// Throws kBadFile for shapes that fit no such network.
  explicit CompactNet(const WeightScope& w);
  int scale() const override { return scale_; }
  int unit() const override { return 1; }
  int reach() const override { return static_cast<int>(convs_.size()); }
  Tensor operator()(const Tensor& x, DType compute) const override;

 private:
  int scale_ = 1;
  std::vector<nn::Conv2d> convs_;
  std::vector<Weight> slopes_;  ///< between them
};

}  // namespace gesso
