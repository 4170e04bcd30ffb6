#include "text/clip_encoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "device/device.h"

namespace gesso {
namespace {

int heads_of(const ClipEncoder::Config& config, int64_t width) {
  const int heads = config.heads > 0 ? config.heads : static_cast<int>(std::max<int64_t>(1, width / 64));
  if (width % heads != 0)
    fail(ErrorCode::kBadFile, "the text encoder's width {} does not divide into {} heads", width, heads);
  return heads;
}

}  // namespace

ClipEncoder::Layer::Layer(const WeightScope& w, int64_t width, const Config& config)
    : layer_norm1(w / "layer_norm1", width),
      layer_norm2(w / "layer_norm2", width),
      q_proj(w / "self_attn.q_proj", width, width),
      k_proj(w / "self_attn.k_proj", width, width),
      v_proj(w / "self_attn.v_proj", width, width),
      out_proj(w / "self_attn.out_proj", width, width),
      fc1(w / "mlp.fc1", width, w.extent("mlp.fc1.weight", 0)),
      fc2(w / "mlp.fc2", w.extent("mlp.fc1.weight", 0), width),
      activation(config.activation) {
  const int heads = heads_of(config, width);
  attrs = {.heads = heads, .scale = 1.f / std::sqrt(static_cast<float>(width / heads)), .causal = true};
}

Tensor ClipEncoder::Layer::operator()(const Tensor& x) const {
  const Tensor h = layer_norm1(x);
  const Tensor y = out_proj(attention(q_proj(h), k_proj(h), v_proj(h), attrs), {.residual = x});
  return fc2(fc1(layer_norm2(y), {.activation = activation}), {.residual = y});
}

ClipEncoder::ClipEncoder(const WeightScope& root, const Config& config)
    : width_(root.extent("text_model.embeddings.token_embedding.weight", 1)) {
  const WeightScope w = root / "text_model";
  token_embedding_ =
      w.get("embeddings.token_embedding.weight", {w.extent("embeddings.token_embedding.weight", 0), width_});
  positions_ =
      w.get("embeddings.position_embedding.weight", {w.extent("embeddings.position_embedding.weight", 0), width_});
  const int layers = w.count("encoder.layers", "layer_norm1.weight");
  for (int i = 0; i < layers; ++i) layers_.emplace_back(w / "encoder.layers" / i, width_, config);
  final_layer_norm_ = nn::LayerNorm(w / "final_layer_norm", width_);
  if (root.has("text_projection.weight"))
    projection_ = root.get("text_projection.weight", {root.extent("text_projection.weight", 0), width_});
}

ClipEncoder::Output ClipEncoder::operator()(Device& device, DType compute, std::span<const int32_t> ids,
                                            std::span<const int> ends, const Options& options) const {
  const int64_t rows = static_cast<int64_t>(ends.size());
  std::vector<int32_t> positions(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) positions[i] = static_cast<int32_t>(static_cast<int64_t>(i) % tokens());
  Tensor x = embedding(device, ids, token_embedding_, compute) + embedding(device, positions, positions_, compute);
  x = x.reshape({rows, tokens(), width_});

  Output out;
  // Skipping beyond the first layer would leave the embeddings alone: the least is one layer.
  const int last = std::clamp(layers() - options.skip, 0, layers() - 1);
  for (int i = 0; i < layers(); ++i) {
    if (i > last && !options.pooled) break;
    x = layers_[static_cast<size_t>(i)](x);
    if (i == last) out.hidden = options.final_norm ? final_layer_norm_(x) : x;
  }
  if (options.pooled) out.pooled = pool(final_layer_norm_(x), ends);
  return out;
}

Tensor ClipEncoder::pool(const Tensor& normed, std::span<const int> ends) const {
  std::vector<int64_t> rows(ends.size());
  for (size_t i = 0; i < ends.size(); ++i) rows[i] = static_cast<int64_t>(i) * tokens() + ends[i];
  const Tensor picked = gather_rows(normed.reshape({normed.dim(0) * normed.dim(1), width_}), rows);
  return projection_ ? linear(picked, projection_, nullptr) : picked;
}

}  // namespace gesso
