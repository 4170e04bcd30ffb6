#include "upscale/rrdb_net.h"

#include <string>

#include "base/error.h"

namespace gesso {
namespace {

constexpr float kResidualScale = 0.2f;
const Epilogue kLeaky{.activation = Activation::kLeakyRelu};
constexpr int kConvs = 5, kChannels = 3;

/// Pixels of a square's side that a layer of so many input channels folds into one.
int unit_of(int64_t channels, const WeightScope& w) {
  for (const int unit : {1, 2, 4})
    if (channels == int64_t{kChannels} * unit * unit) return unit;
  fail(ErrorCode::kUnsupported,
       "the {} takes {} channels a pixel; wanted 3 (RGB), or 12 or 48 (squares of RGB pixels): this version upscales "
       "pictures of three channels only",
       w.store().component(), channels);
}

nn::Conv2d conv(const WeightScope& w, int64_t in, int64_t out) {
  return {w, in, out, 3};
}

}  // namespace

RrdbNet::DenseBlock::DenseBlock(const WeightScope& w, int64_t features) {
  const int64_t growth = w.extent("conv1.weight", 0);
  for (int k = 0; k < kConvs; ++k)
    convs.push_back(
        conv(w / ("conv" + std::to_string(k + 1)), features + k * growth, k + 1 < kConvs ? growth : features));
  shortcut = (w / "conv1x1").find("weight", {growth, features, 1, 1});
}

Tensor RrdbNet::DenseBlock::operator()(const Tensor& x) const {
  const Tensor x1 = convs[0](x, kLeaky);
  Tensor seen = concat(x, x1);
  const Tensor x2 = convs[1](
      seen, {.activation = Activation::kLeakyRelu, .residual = shortcut ? linear(x, shortcut, nullptr) : Tensor()});
  seen = concat(seen, x2);
  seen = concat(seen, convs[2](seen, kLeaky));
  seen = concat(seen, convs[3](seen, {.activation = Activation::kLeakyRelu, .residual = shortcut ? x2 : Tensor()}));
  return convs[4](seen, {.residual = x, .scale = kResidualScale});
}

RrdbNet::Block::Block(const WeightScope& w, int64_t features)
    : rdb1(w / "rdb1", features), rdb2(w / "rdb2", features), rdb3(w / "rdb3", features) {}

Tensor RrdbNet::Block::operator()(const Tensor& x) const {
  return scaled_add(rdb3(rdb2(rdb1(x))), kResidualScale, x);
}

RrdbNet::RrdbNet(const WeightScope& w) : features_(w.extent("conv_first.weight", 0)) {
  const int64_t in = w.extent("conv_first.weight", 1), out = w.extent("conv_last.weight", 0);
  unit_ = unit_of(in, w);
  if (out != kChannels)
    fail(ErrorCode::kUnsupported, "the {} makes pictures of {} channels: only those of 3 are supported",
         w.store().component(), out);
  conv_first_ = conv(w / "conv_first", in, features_);
  const int blocks = w.count("body", "rdb1.conv1.weight");
  if (blocks == 0) w.store().missing("body.0.rdb1.conv1.weight", "");
  for (int i = 0; i < blocks; ++i) body_.emplace_back(w / "body" / i, features_);
  conv_body_ = conv(w / "conv_body", features_, features_);
  for (int k = 1; (w / ("conv_up" + std::to_string(k))).has("weight"); ++k)
    ups_.push_back(conv(w / ("conv_up" + std::to_string(k)), features_, features_));
  constexpr size_t kMostDoublings = 5;
  if (ups_.size() > kMostDoublings || (1 << ups_.size()) % unit_ != 0)
    fail(ErrorCode::kBadFile, "the {} folds squares of {} pixels and doubles {} times: no such network is known",
         w.store().component(), unit_, ups_.size());
  conv_hr_ = conv(w / "conv_hr", features_, features_);
  conv_last_ = conv(w / "conv_last", features_, out);
}

int RrdbNet::reach() const {
  // At the size of the body: its convolutions; one each before and behind it; those at larger sizes, together less than
  // 1/2 + 1/4 + ... and twice the last.
  return unit_ * (3 * kConvs * static_cast<int>(body_.size()) + 2 + 3);
}

Tensor RrdbNet::operator()(const Tensor& x, DType compute) const {
  const Tensor first = conv_first_(cast(unit_ > 1 ? patchify(x, {.size = unit_}) : x, compute));
  Tensor y = first;
  for (const Block& block : body_) y = block(y);
  y = conv_body_(y, {.residual = first});
  for (const nn::Conv2d& up : ups_) y = up(upsample_nearest(y, 2, 2 * y.dim(1), 2 * y.dim(2)), kLeaky);
  y = conv_hr_(y, kLeaky);
  return conv_last_(cast(y, DType::kF32));
}

}  // namespace gesso
