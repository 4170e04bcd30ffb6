#include "text/t5_encoder.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "device/device.h"

namespace gesso {
namespace {

constexpr const char* kBias = "layer.0.SelfAttention.relative_attention_bias.weight";

/// The bucket of a key `distance` tokens behind the query: half of the buckets for either side; of each half, one for
/// every near distance, then wider and wider ones up to 128 tokens.
int32_t bucket_of(int64_t distance, int64_t buckets) {
  const int64_t side = buckets / 2, exact = side / 2, apart = std::abs(distance);
  int64_t bucket = apart;
  if (apart >= exact) {
    constexpr float kFar = 128.f;
    // f32 in this order, as the reference computes it: the edges of the buckets depend on it.
    const float ratio =
        std::log(static_cast<float>(apart) / static_cast<float>(exact)) / std::log(kFar / static_cast<float>(exact));
    bucket = std::min(exact + static_cast<int64_t>(ratio * static_cast<float>(side - exact)), side - 1);
  }
  return static_cast<int32_t>(bucket + (distance > 0 ? side : 0));
}

/// [heads, keys, queries]
Tensor position_bias(Device& device, const Weight& table, int64_t tokens) {
  std::vector<int32_t> buckets;
  buckets.reserve(static_cast<size_t>(tokens * tokens));
  for (int64_t key = 0; key < tokens; ++key)
    for (int64_t query = 0; query < tokens; ++query) buckets.push_back(bucket_of(key - query, table->shape()[0]));
  const int64_t heads = table->shape()[1];
  const Tensor rows = embedding(device, buckets, table, DType::kF32);
  return to_channels_first(rows.reshape({1, tokens, tokens, heads})).reshape({heads, tokens, tokens});
}

}  // namespace

T5Encoder::Block::Block(const WeightScope& w, int64_t width)
    : attention_norm(w / "layer.0.layer_norm", width),
      feed_forward_norm(w / "layer.1.layer_norm", width),
      q(nn::linear_by_shape(w / "layer.0.SelfAttention.q", false)),
      k(w / "layer.0.SelfAttention.k", width, q.weight->shape()[0], false),
      v(w / "layer.0.SelfAttention.v", width, q.weight->shape()[0], false),
      o(w / "layer.0.SelfAttention.o", q.weight->shape()[0], width, false),
      wi_0(nn::linear_by_shape(w / "layer.1.DenseReluDense.wi_0", false)),
      wi_1(w / "layer.1.DenseReluDense.wi_1", width, wi_0.weight->shape()[0], false),
      wo(w / "layer.1.DenseReluDense.wo", wi_0.weight->shape()[0], width, false) {}

Tensor T5Encoder::Block::operator()(const Tensor& x, const Tensor& bias) const {
  const Tensor h = attention_norm(x);
  const Attention attrs{.heads = static_cast<int>(bias.dim(0))};  // T5 does not scale its scores
  const Tensor y = o(attention(q(h), k(h), v(h), attrs, bias), {.residual = x});
  const Tensor g = feed_forward_norm(y);
  return wo(multiply(wi_0(g, {.activation = Activation::kGeluTanh}), wi_1(g)), {.residual = y});
}

T5Encoder::T5Encoder(const WeightScope& w)
    : table_(w.get("shared.weight", {w.extent("shared.weight", 0), w.extent("shared.weight", 1)})),
      final_norm_(w / "encoder.final_layer_norm", width()) {
  const int blocks = w.count("encoder.block", "layer.0.SelfAttention.q.weight");
  const int64_t buckets = (w / "encoder.block.0").extent(kBias, 0), heads = (w / "encoder.block.0").extent(kBias, 1);
  for (int i = 0; i < blocks; ++i) {
    const WeightScope block = w / "encoder.block" / i;
    blocks_.emplace_back(block, width());
    biases_.push_back(block.find(kBias, {buckets, heads}));
    if (const int64_t inner = blocks_.back().q.weight->shape()[0]; heads < 1 || inner % heads != 0)
      fail(ErrorCode::kBadFile, "{} of the {}: {} channels do not divide into {} attention heads", block.prefix(),
           w.store().component(), inner, heads);
  }
  if (buckets < 4 || buckets % 2 != 0 || blocks == 0)
    fail(ErrorCode::kBadFile, "the {} has {} blocks and {} kinds of distance: it is damaged, or no T5",
         w.store().component(), blocks, buckets);
}

Tensor T5Encoder::operator()(Device& device, DType compute, std::span<const int32_t> ids) const {
  const auto tokens = static_cast<int64_t>(ids.size());
  Tensor x = embedding(device, ids, table_, compute).reshape({1, tokens, width()}), bias;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (biases_[i]) bias = position_bias(device, biases_[i], tokens);
    x = blocks_[i](x, bias);
  }
  return final_norm_(x);
}

}  // namespace gesso
