#include "vae/kl_vae.h"

#include <algorithm>
#include <cmath>

namespace gesso {
namespace kl {
namespace {
constexpr float kEps = 1e-6f;
}

ResnetBlock::ResnetBlock(const WeightScope& w, int groups)
    : in(w.extent("conv1.weight", 1)),
      out(w.extent("conv1.weight", 0)),
      norm1(w / "norm1", in, groups, kEps, Activation::kSilu),
      norm2(w / "norm2", out, groups, kEps, Activation::kSilu),
      conv1(w / "conv1", in, out, 3),
      conv2(w / "conv2", out, out, 3) {
  if (in != out) shortcut.emplace(w / "nin_shortcut", in, out, 1);
}

Tensor ResnetBlock::operator()(const Tensor& x) const {
  const Tensor h = norm2(conv1(norm1(x)));
  return conv2(h, {.residual = shortcut ? (*shortcut)(x) : x});
}

AttentionBlock::AttentionBlock(const WeightScope& w, int groups)
    : channels(w.extent("q.weight", 0)),
      norm(w / "norm", channels, groups, kEps),
      q(w / "q", channels, channels),
      k(w / "k", channels, channels),
      v(w / "v", channels, channels),
      proj_out(w / "proj_out", channels, channels) {}

Tensor AttentionBlock::operator()(const Tensor& x) const {
  const Shape tokens{x.dim(0), x.dim(1) * x.dim(2), channels};
  const Tensor h = norm(x).reshape(tokens);
  const Attention attrs{.heads = 1, .scale = 1.f / std::sqrt(static_cast<float>(channels))};
  return proj_out(attention(q(h), k(h), v(h), attrs), {.residual = x.reshape(tokens)}).reshape(x.shape());
}

Middle::Middle(const WeightScope& w, int groups)
    : block_1(w / "block_1", groups), attn_1(w / "attn_1", groups), block_2(w / "block_2", groups) {}

Tensor Middle::operator()(const Tensor& x) const {
  return block_2(attn_1(block_1(x)));
}

namespace {

/// The levels side.0, side.1, ...; `resample` names the convolution behind a level's blocks.
std::vector<Level> read_levels(const WeightScope& w, const char* side, const char* resample, int groups) {
  std::vector<Level> levels(static_cast<size_t>(w.count(side, "block.0.conv1.weight")));
  for (size_t i = 0; i < levels.size(); ++i) {
    const WeightScope level = w / side / static_cast<int>(i);
    const int blocks = level.count("block", "conv1.weight");
    for (int j = 0; j < blocks; ++j) levels[i].blocks.emplace_back(level / "block" / j, groups);
    const int64_t channels = levels[i].blocks.back().out;
    if ((level / resample).has("conv.weight"))
      levels[i].resample.emplace(level / resample / "conv", channels, channels, 3);
  }
  return levels;
}

std::optional<nn::Linear> pointwise(const WeightScope& w, const char* name) {
  if (!(w / name).has("weight")) return std::nullopt;
  return nn::Linear(w / name, (w / name).extent("weight", 1), (w / name).extent("weight", 0));
}

}  // namespace
}  // namespace kl

KlDecoder::KlDecoder(const WeightScope& w, int groups)
    : post_quant_(kl::pointwise(w, "post_quant_conv")),
      conv_in_(w / "decoder.conv_in", w.extent("decoder.conv_in.weight", 1), w.extent("decoder.conv_in.weight", 0), 3),
      middle_(w / "decoder.mid", groups),
      levels_(kl::read_levels(w / "decoder", "up", "upsample", groups)),
      norm_out_(w / "decoder.norm_out", w.extent("decoder.norm_out.weight", 0), groups, kl::kEps, Activation::kSilu),
      conv_out_(w / "decoder.conv_out", w.extent("decoder.norm_out.weight", 0), w.extent("decoder.conv_out.weight", 0),
                3) {
  if (levels_.empty()) w.store().missing("decoder.up.0.block.0.conv1.weight", "");
  std::reverse(levels_.begin(), levels_.end());
}

Tensor KlDecoder::operator()(const Tensor& z) const {
  Tensor x = middle_(conv_in_(post_quant_ ? (*post_quant_)(z) : z));
  for (const kl::Level& level : levels_) {
    for (const kl::ResnetBlock& block : level.blocks) x = block(x);
    if (level.resample) x = (*level.resample)(upsample_nearest(x, 2, 2 * x.dim(1), 2 * x.dim(2)));
  }
  x = norm_out_(x);
  return conv_out_(x);
}

KlEncoder::KlEncoder(const WeightScope& w, int groups)
    : conv_in_(w / "encoder.conv_in", w.extent("encoder.conv_in.weight", 1), w.extent("encoder.conv_in.weight", 0), 3),
      levels_(kl::read_levels(w / "encoder", "down", "downsample", groups)),
      middle_(w / "encoder.mid", groups),
      norm_out_(w / "encoder.norm_out", w.extent("encoder.norm_out.weight", 0), groups, kl::kEps, Activation::kSilu),
      conv_out_(w / "encoder.conv_out", w.extent("encoder.norm_out.weight", 0), w.extent("encoder.conv_out.weight", 0),
                3),
      quant_(kl::pointwise(w, "quant_conv")) {
  // The reference pads only below and to the right before its strided convolution.
  for (kl::Level& level : levels_)
    if (level.resample) level.resample->attrs = {.stride = 2, .bottom = 1, .right = 1};
}

Tensor KlEncoder::operator()(const Tensor& image) const {
  Tensor x = conv_in_(image);
  for (const kl::Level& level : levels_) {
    for (const kl::ResnetBlock& block : level.blocks) x = block(x);
    if (level.resample) x = (*level.resample)(x);
  }
  x = conv_out_(norm_out_(middle_(x)));
  return quant_ ? (*quant_)(x) : x;
}

Tensor KlEncoder::mean(const Tensor& image) const {
  const Tensor moments = to_channels_first(cast((*this)(image), DType::kF32));  // [n, 2 z, h, w]
  const int64_t n = moments.dim(0), half = moments.dim(1) / 2 * moments.dim(2) * moments.dim(3);
  const std::vector<float> values = to_values(moments);
  std::vector<float> means;
  for (int64_t i = 0; i < n; ++i)
    means.insert(means.end(), values.begin() + 2 * i * half, values.begin() + (2 * i + 1) * half);
  return to_channels_last(from_values(image.device(), means, {n, moments.dim(1) / 2, moments.dim(2), moments.dim(3)}));
}

}  // namespace gesso
