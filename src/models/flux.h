#pragma once
#include <optional>
#include <span>
#include <vector>

#include "nn/layers.h"

namespace gesso {

/// The transformer of FLUX.1 (Black Forest Labs; diffusers' transformer_flux.py): blocks that keep text and picture in
/// two streams and join them in attention, then blocks with one stream, all modulated by a vector of time, guidance and
/// pooled text. Widths and depths are read from shapes; the axes of its rotary positions follow from the width of a
/// head.
class Flux {
 public:
  /// `w` under the names of flux_network().
  explicit Flux(const WeightScope& w);

  /// Channels of the latent, of which a square of 2 x 2 is a token.
  int64_t channels() const { return final_linear_.weight->shape()[0] / 4; }
  int64_t context_width() const { return txt_in_.weight->shape()[1]; }
  int64_t pooled_width() const { return vector_in_.in.weight->shape()[1]; }
  /// Whether the network is told a guidance scale (dev), rather than trained for none (schnell).
  bool takes_guidance() const { return guidance_in_.has_value(); }
  /// Width of the sinusoids of a guidance scale times 1000.
  int64_t guidance_width() const { return time_in_.in.weight->shape()[1]; }

  /// x [n, h, w, channels], h and w even; a timestep (0 to 1000) a picture; context [n, tokens, context_width]; vector
  /// [n, pooled_width], and guidance_width sinusoids behind it where the network takes guidance -> [n, h, w, channels]
  Tensor operator()(const Tensor& x, std::span<const float> timesteps, const Tensor& context,
                    const Tensor& vector) const;

 private:
  struct Stream {  // one side of a double block
    Stream(const WeightScope& w, const char* side, int64_t width);
    nn::Linear modulation, q, k, v, proj;
    nn::RmsNorm query_norm, key_norm;
    nn::Mlp mlp;
  };
  struct DoubleBlock {
    DoubleBlock(const WeightScope& w, int64_t width);
    Stream img, txt;
  };
  struct SingleBlock {
    SingleBlock(const WeightScope& w, int64_t width);
    nn::Linear modulation, q, k, v, mlp, linear2;
    nn::RmsNorm query_norm, key_norm;
  };
  struct Streams {
    Tensor img, txt;
  };
  /// vector: silu of the modulating vector.
  Streams run(const DoubleBlock& block, const Streams& x, const Tensor& vector, const Tensor& positions) const;
  Tensor run(const SingleBlock& block, const Tensor& x, const Tensor& vector, const Tensor& positions) const;
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& positions) const;

  nn::Linear img_in_, txt_in_;
  nn::Mlp time_in_, vector_in_;
  std::optional<nn::Mlp> guidance_in_;
  std::vector<DoubleBlock> double_blocks_;
  std::vector<SingleBlock> single_blocks_;
  nn::Linear final_shift_, final_scale_, final_linear_;
  int64_t width_, head_;
};

}  // namespace gesso
