#pragma once
#include <optional>
#include <vector>

#include "nn/layers.h"

namespace gesso {

/// Blocks of the tiny autoencoders by madebyollin (TAESD, TAESDXL, TAESD3, TAEF1; taesd.py of that repository, and
/// diffusers' AutoencoderTiny). Widths, depths and the number of levels come from the shapes of the weights.
namespace tiny {

/// relu(convolutions of x + x)
struct Block {
  explicit Block(const WeightScope& w);
  Tensor operator()(const Tensor& x) const;
  int64_t channels;
  nn::Conv2d conv_0, conv_1, conv_2;
};

struct Level {
  std::vector<Block> blocks;
  std::optional<nn::Conv2d> resample;  ///< the encoder's comes before its blocks, the decoder's behind them
};

}  // namespace tiny

/// z [n, h, w, z], scaled as the denoiser has it -> image [n, 8 h, 8 w, 3] in about [0, 1].
class TinyDecoder {
 public:
  /// `w` is the autoencoder under the names of tiny_vae_network(): decoder.*
  explicit TinyDecoder(const WeightScope& w);
  Tensor operator()(const Tensor& z) const;
  int64_t latent_channels() const { return conv_in_.weight->shape()[1]; }
  /// Pixels per latent along a side.
  int scale() const { return 1 << (levels_.size() - 1); }

 private:
  nn::Conv2d conv_in_;
  std::vector<tiny::Level> levels_;  // coarse to fine
  nn::Conv2d conv_out_;
};

/// image [n, h, w, 3] in [0, 1] -> latent [n, h / 8, w / 8, z], scaled as the denoiser has it.
class TinyEncoder {
 public:
  /// `w` is the autoencoder: encoder.*
  explicit TinyEncoder(const WeightScope& w);
  Tensor operator()(const Tensor& image) const;
  int64_t latent_channels() const { return conv_out_.weight->shape()[0]; }

 private:
  nn::Conv2d conv_in_;
  std::vector<tiny::Level> levels_;  // fine to coarse
  nn::Conv2d conv_out_;
};

}  // namespace gesso
