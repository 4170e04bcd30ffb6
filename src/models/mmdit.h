#pragma once
#include <optional>
#include <span>
#include <vector>

#include "nn/layers.h"

namespace gesso {

/// The multimodal diffusion transformer of Stable Diffusion 3 (Esser et al. 2024), with the normed queries and keys and
/// the second attention of 3.5 where the weights have them (diffusers' transformer_sd3.py). Widths, depths and parts
/// are read from names and shapes.
class MmDit {
 public:
  struct Config {
    int64_t head_channels = 64;  ///< of a head, where no norm of queries tells
  };
  /// `w` under the names of mmdit_network().
  MmDit(const WeightScope& w, const Config& config);

  int64_t channels() const { return x_embedder_.weight->shape()[1]; }
  int64_t context_width() const { return context_embedder_.weight->shape()[1]; }
  int64_t vector_width() const { return y_embedder_.in.weight->shape()[1]; }
  /// The largest height and width in latents.
  int64_t largest() const { return 2 * side_; }

  /// x [n, h, w, channels], h and w even and at most largest(); a timestep (0 to 1000) a picture; context [n, tokens,
  /// context_width]; vector [n, vector_width] -> [n, h, w, channels]
  Tensor operator()(const Tensor& x, std::span<const float> timesteps, const Tensor& context,
                    const Tensor& vector) const;

 private:
  struct SelfAttention {
    SelfAttention() = default;
    SelfAttention(const WeightScope& w, int64_t width);
    Tensor queries(const Tensor& x) const { return query_norm ? query_norm->by_head(q(x)) : q(x); }
    Tensor keys(const Tensor& x) const { return key_norm ? key_norm->by_head(k(x)) : k(x); }
    nn::Linear q, k, v;
    std::optional<nn::Linear> proj;
    std::optional<nn::RmsNorm> query_norm, key_norm;
  };
  struct Side {  // picture or text in a block
    Side(const WeightScope& w, int64_t width);
    bool last() const { return shift.weight != nullptr; }  // text that only attends
    nn::Linear modulation, shift, scale;
    SelfAttention attn;
    std::optional<SelfAttention> attn2;
    std::optional<nn::Mlp> mlp;
  };
  struct JointBlock {
    JointBlock(const WeightScope& w, int64_t width);
    Side x, context;
  };
  struct Streams {
    Tensor x, context;
  };
  Streams run(const JointBlock& block, const Streams& s, const Tensor& vector) const;
  Tensor positions(const Tensor& x, int64_t rows, int64_t columns) const;

  nn::Conv2d x_embedder_;
  nn::Linear context_embedder_;
  nn::Mlp t_embedder_, y_embedder_;
  std::vector<JointBlock> blocks_;
  nn::Linear final_shift_, final_scale_, final_linear_;
  Weight pos_embed_;  // [side_ * side_, width]
  int64_t width_, side_ = 0;
  Attention attention_;
};

}  // namespace gesso
