#include "upscale/compact_net.h"

#include "base/error.h"

namespace gesso {
namespace {

constexpr int kChannels = 3, kLargestScale = 8;

/// The scale whose squares of pixels take so many channels.
int scale_of(int64_t channels, const WeightScope& w) {
  for (int scale = 1; scale <= kLargestScale; ++scale)
    if (channels == int64_t{kChannels} * scale * scale) return scale;
  fail(ErrorCode::kBadFile, "the last layer of the {} makes {} channels: wanted 3 times a square up to {}",
       w.store().component(), channels, kLargestScale * kLargestScale);
}

}  // namespace

CompactNet::CompactNet(const WeightScope& w) {
  const int count = w.count("convs", "weight");
  if (count < 2) w.store().missing(count == 0 ? "convs.0.weight" : "convs.1.weight", "");
  int64_t in = kChannels;
  for (int k = 0; k < count; ++k) {
    const WeightScope layer = w / "convs" / k;
    const int64_t out = layer.extent("weight", 0);
    convs_.emplace_back(layer, in, out, 3);
    if (k + 1 < count) slopes_.push_back((w / "slopes" / k).get("weight", {out}));
    in = out;
  }
  scale_ = scale_of(in, w);
}

Tensor CompactNet::operator()(const Tensor& x, DType compute) const {
  Tensor y = cast(x, compute);
  for (size_t k = 0; k < slopes_.size(); ++k) y = prelu(convs_[k](y), slopes_[k]);
  y = convs_.back()(cast(y, DType::kF32));
  return add(unpatchify(y, {.size = scale_}), upsample_nearest(x, scale_, scale_ * x.dim(1), scale_ * x.dim(2)));
}

}  // namespace gesso
