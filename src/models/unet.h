#pragma once
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "nn/layers.h"

namespace gesso {

/// The UNet of latent diffusion with text cross-attention (LDM's openaimodel.py and attention.py), under LDM's names.
/// Its whole structure is read from names and shapes; what they cannot tell is in Config.
class UNet {
 public:
  struct Config {
    int groups = 32;
    int heads = 0;           ///< attention heads of every block, or 0: head_channels decides
    int head_channels = 64;  ///< channels of a head
  };
  UNet(const WeightScope& w, const Config& config);

  int64_t in_channels() const { return in_channels_; }
  int64_t out_channels() const { return out_conv_.weight->shape()[0]; }
  int64_t context_width() const { return context_width_; }
  /// Width of the vector condition (SDXL), 0 without one.
  int64_t vector_width() const { return label_embed_0_ ? label_embed_0_->weight->shape()[1] : 0; }

  /// x [n, h, w, in], one timestep a picture (0 to 999, fractions allowed), context [n, tokens, context_width],
  /// vector [n, vector_width] or empty -> [n, h, w, out]
  Tensor operator()(const Tensor& x, std::span<const float> timesteps, const Tensor& context,
                    const Tensor& vector) const;

 private:
  struct ResBlock {
    ResBlock(const WeightScope& w, int64_t embed, int groups);
    Tensor operator()(const Tensor& x, const Tensor& embed) const;
    int64_t in, out;
    nn::GroupNorm norm_in, norm_out;
    nn::Conv2d conv_in, conv_out;
    nn::Linear embed;
    std::optional<nn::Conv2d> skip;
  };
  struct CrossAttention {
    CrossAttention(const WeightScope& w, int64_t width, int heads);
    /// Attends to `context`, adds `residual`.
    Tensor operator()(const Tensor& x, const Tensor& context, const Tensor& residual) const;
    nn::Linear to_q, to_k, to_v, to_out;
    Attention attrs;
  };
  struct TransformerBlock {
    TransformerBlock(const WeightScope& w, int64_t width, int heads);
    Tensor operator()(const Tensor& x, const Tensor& context) const;
    nn::LayerNorm norm1, norm2, norm3;
    CrossAttention attn1, attn2;
    nn::Linear ff_in, ff_out;
  };
  struct SpatialTransformer {
    SpatialTransformer(const WeightScope& w, const Config& config);
    Tensor operator()(const Tensor& x, const Tensor& context) const;
    int64_t channels;
    nn::GroupNorm norm;
    nn::Linear proj_in, proj_out;
    std::vector<TransformerBlock> blocks;
  };
  struct Downsample {
    explicit Downsample(const WeightScope& w);
    nn::Conv2d conv;
  };
  struct Upsample {
    explicit Upsample(const WeightScope& w);
    nn::Conv2d conv;
  };
  using Part = std::variant<nn::Conv2d, ResBlock, SpatialTransformer, Downsample, Upsample>;
  using Block = std::vector<Part>;

  Block read_block(const WeightScope& w, const Config& config);
  /// `next`: what the result is joined with, whose height and width an upsampling aims at.
  Tensor run(const Block& block, Tensor x, const Tensor& embed, const Tensor& context, const Tensor& next) const;

  int64_t model_channels_, in_channels_, context_width_ = 0;
  nn::Linear time_embed_0_, time_embed_2_;
  std::optional<nn::Linear> label_embed_0_, label_embed_2_;
  std::vector<Block> input_blocks_, output_blocks_;
  Block middle_block_;
  nn::GroupNorm out_norm_;
  nn::Conv2d out_conv_;
};

}  // namespace gesso
