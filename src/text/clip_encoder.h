#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "nn/layers.h"

namespace gesso {

/// The text transformer of CLIP (Radford et al. 2021; transformers' modeling_clip.py), under transformers' names
/// (text_model.encoder.layers...). Width, depth and vocabulary come from the shapes of the weights.
class ClipEncoder {
 public:
  struct Config {
    int heads = 0;  ///< 0: one per 64 channels
    Activation activation = Activation::kQuickGelu;
  };
  ClipEncoder(const WeightScope& w, const Config& config);

  int layers() const { return static_cast<int>(layers_.size()); }
  int64_t width() const { return width_; }
  int64_t tokens() const { return positions_->shape()[0]; }
  /// Width of the pooled output: that of the projection where there is one.
  int64_t pooled_width() const { return projection_ ? projection_->shape()[0] : width_; }

  struct Output {
    Tensor hidden;  ///< [n, tokens, width]: after `layers() - skip + 1` layers, with the final norm if asked
    Tensor pooled;  ///< [n, pooled_width]: the last layer, normed, at each row's end position, projected; or empty
  };
  struct Options {
    int skip = 1;            ///< 1: the last layer, 2: the one before, ...; clip skip
    bool final_norm = true;  ///< of `hidden`
    bool pooled = false;
  };
  /// `ids`: n rows of tokens() ids; `ends`: the position of the end token in each row.
  Output operator()(Device& device, DType compute, std::span<const int32_t> ids, std::span<const int> ends,
                    const Options& options) const;

 private:
  struct Layer {
    Layer(const WeightScope& w, int64_t width, const Config& config);
    Tensor operator()(const Tensor& x) const;
    nn::LayerNorm layer_norm1, layer_norm2;
    nn::Linear q_proj, k_proj, v_proj, out_proj, fc1, fc2;
    Attention attrs;
    Activation activation;
  };
  Tensor pool(const Tensor& normed, std::span<const int> ends) const;

  int64_t width_;
  Weight token_embedding_, positions_, projection_;
  std::vector<Layer> layers_;
  nn::LayerNorm final_layer_norm_;
};

}  // namespace gesso
