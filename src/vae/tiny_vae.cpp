#include "vae/tiny_vae.h"

namespace gesso {
namespace tiny {

Block::Block(const WeightScope& w)
    : channels(w.extent("conv.0.weight", 0)),
      conv_0(w / "conv.0", channels, channels, 3),
      conv_1(w / "conv.1", channels, channels, 3),
      conv_2(w / "conv.2", channels, channels, 3) {}

Tensor Block::operator()(const Tensor& x) const {
  const Epilogue relu{.activation = Activation::kRelu};
  return activate(conv_2(conv_1(conv_0(x, relu), relu), {.residual = x}), Activation::kRelu);
}

namespace {

nn::Conv2d convolution(const WeightScope& w, bool with_bias) {
  return {w, w.extent("weight", 1), w.extent("weight", 0), 3, with_bias};
}

/// side.level.0, side.level.1, ... as the side runs them.
std::vector<Level> read_levels(const WeightScope& side) {
  std::vector<Level> levels(static_cast<size_t>(side.count("level", "block.0.conv.0.weight")));
  if (levels.empty()) side.store().missing((side / "level.0.block.0.conv.0.weight").prefix(), "");
  for (size_t i = 0; i < levels.size(); ++i) {
    const WeightScope level = side / "level" / static_cast<int>(i);
    const int blocks = level.count("block", "conv.0.weight");
    for (int j = 0; j < blocks; ++j) levels[i].blocks.emplace_back(level / "block" / j);
    if (level.has("resample.weight")) levels[i].resample.emplace(convolution(level / "resample", false));
  }
  return levels;
}

}  // namespace
}  // namespace tiny

TinyDecoder::TinyDecoder(const WeightScope& w)
    : conv_in_(tiny::convolution(w / "decoder.conv_in", true)),
      levels_(tiny::read_levels(w / "decoder")),
      conv_out_(tiny::convolution(w / "decoder.conv_out", true)) {}

Tensor TinyDecoder::operator()(const Tensor& z) const {
  Tensor x = conv_in_(activate(z, Activation::kSoftClamp3), {.activation = Activation::kRelu});
  for (const tiny::Level& level : levels_) {
    for (const tiny::Block& block : level.blocks) x = block(x);
    if (level.resample) x = (*level.resample)(upsample_nearest(x, 2, 2 * x.dim(1), 2 * x.dim(2)));
  }
  return conv_out_(x);
}

TinyEncoder::TinyEncoder(const WeightScope& w)
    : conv_in_(tiny::convolution(w / "encoder.conv_in", true)),
      levels_(tiny::read_levels(w / "encoder")),
      conv_out_(tiny::convolution(w / "encoder.conv_out", true)) {
  for (tiny::Level& level : levels_)
    if (level.resample) level.resample->attrs.stride = 2;
}

Tensor TinyEncoder::operator()(const Tensor& image) const {
  Tensor x = conv_in_(image);
  for (const tiny::Level& level : levels_) {
    if (level.resample) x = (*level.resample)(x);
    for (const tiny::Block& block : level.blocks) x = block(x);
  }
  return conv_out_(x);
}

}  // namespace gesso
