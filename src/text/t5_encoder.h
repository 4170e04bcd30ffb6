#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "nn/layers.h"

namespace gesso {

/// The encoder of T5 version 1.1 (Raffel et al. 2020; Shazeer 2020 for the gated GELU; transformers' modeling_t5.py),
/// under transformers' names (encoder.block.N...). Width, heads, depth and vocabulary come from the shapes of the
/// weights. A block with a position bias of its own (umT5) uses that, the others that of the first block.
class T5Encoder {
 public:
  explicit T5Encoder(const WeightScope& w);

  int64_t width() const { return table_->shape()[1]; }
  /// ids of one text, at least one -> [1, ids, width] after the final norm. Every token sees every other; there is no
  /// mask for padding.
  Tensor operator()(Device& device, DType compute, std::span<const int32_t> ids) const;

 private:
  struct Block {
    Block(const WeightScope& w, int64_t width);
    Tensor operator()(const Tensor& x, const Tensor& bias) const;
    nn::RmsNorm attention_norm, feed_forward_norm;
    nn::Linear q, k, v, o, wi_0, wi_1, wo;
  };

  Weight table_;
  std::vector<Block> blocks_;
  std::vector<Weight> biases_;  // [buckets, heads] of each block; null: as before
  nn::RmsNorm final_norm_;
};

}  // namespace gesso
