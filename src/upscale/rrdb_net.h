#pragma once
#include <optional>
#include <vector>

#include "nn/layers.h"
#include "upscale/upscale_network.h"

namespace gesso {

/// ESRGAN's generator (Wang et al. 2018): residual-in-residual dense blocks at the picture's size, then as many
/// doublings as there are conv_up layers. Those of Real-ESRGAN (Wang et al. 2021; BasicSR's rrdbnet_arch.py) for x2 and
/// x1 fold squares of 2 or 4 pixels into channels first. Widths, depth and scale come from the shapes of the weights;
/// names are BasicSR's.
class RrdbNet final : public UpscaleNetwork {
 public:
  /// Throws kBadFile for shapes that fit no such network, kUnsupported for pictures of other than three channels.
  explicit RrdbNet(const WeightScope& w);
  int scale() const override { return (1 << ups_.size()) / unit_; }
  int unit() const override { return unit_; }
  int reach() const override;
  Tensor operator()(const Tensor& x, DType compute) const override;

 private:
  /// Five convolutions, each of which sees what all before it saw and made.
  struct DenseBlock {
    DenseBlock(const WeightScope& w, int64_t features);
    Tensor operator()(const Tensor& x) const;
    std::vector<nn::Conv2d> convs;
    Weight shortcut;  ///< of ESRGAN+ (Rakotonirina and Rasoanaivo 2020); null in others
  };
  struct Block {
    Block(const WeightScope& w, int64_t features);
    Tensor operator()(const Tensor& x) const;
    DenseBlock rdb1, rdb2, rdb3;
  };

  int unit_ = 1;
  int64_t features_;
  nn::Conv2d conv_first_;
  std::vector<Block> body_;
  nn::Conv2d conv_body_;
  std::vector<nn::Conv2d> ups_;
  nn::Conv2d conv_hr_, conv_last_;
};

}  // namespace gesso
