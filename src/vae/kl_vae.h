#pragma once
#include <optional>
#include <vector>

#include "nn/layers.h"

namespace gesso {

/// Blocks of the KL autoencoder of latent diffusion (Rombach et al. 2022; LDM's diffusionmodules/model.py). Widths,
/// depths and the number of levels come from the shapes of the weights.
namespace kl {

struct ResnetBlock {
  ResnetBlock(const WeightScope& w, int groups);
  Tensor operator()(const Tensor& x) const;
  int64_t in, out;
  nn::GroupNorm norm1, norm2;
  nn::Conv2d conv1, conv2;
  std::optional<nn::Conv2d> shortcut;
};

/// Self-attention of one head over all pixels.
struct AttentionBlock {
  AttentionBlock(const WeightScope& w, int groups);
  Tensor operator()(const Tensor& x) const;
  int64_t channels;
  nn::GroupNorm norm;
  nn::Linear q, k, v, proj_out;
};

struct Middle {
  Middle(const WeightScope& w, int groups);
  Tensor operator()(const Tensor& x) const;
  ResnetBlock block_1;
  AttentionBlock attn_1;
  ResnetBlock block_2;
};

struct Level {
  std::vector<ResnetBlock> blocks;
  std::optional<nn::Conv2d> resample;
};

}  // namespace kl

/// z [n, h, w, z] -> image [n, 8 h, 8 w, 3] in about [-1, 1] (8 with four levels).
class KlDecoder {
 public:
  /// `w` is the autoencoder: decoder.*, and post_quant_conv where it has one.
  KlDecoder(const WeightScope& w, int groups);
  Tensor operator()(const Tensor& z) const;
  int64_t latent_channels() const { return conv_in_.weight->shape()[1]; }
  /// Pixels per latent along a side.
  int scale() const { return 1 << (levels_.size() - 1); }

 private:
  std::optional<nn::Linear> post_quant_;
  nn::Conv2d conv_in_;
  kl::Middle middle_;
  std::vector<kl::Level> levels_;  // as the decoder runs them: coarse to fine
  nn::GroupNorm norm_out_;
  nn::Conv2d conv_out_;
};

/// image [n, h, w, 3] in [-1, 1] -> moments [n, h / 8, w / 8, 2 z]: mean, then log-variance.
class KlEncoder {
 public:
  /// `w` is the autoencoder: encoder.*, and quant_conv where it has one.
  KlEncoder(const WeightScope& w, int groups);
  Tensor operator()(const Tensor& image) const;
  /// The mean alone, [n, h / 8, w / 8, z].
  Tensor mean(const Tensor& image) const;

 private:
  nn::Conv2d conv_in_;
  std::vector<kl::Level> levels_;
  kl::Middle middle_;
  nn::GroupNorm norm_out_;
  nn::Conv2d conv_out_;
  std::optional<nn::Linear> quant_;
};

}  // namespace gesso
