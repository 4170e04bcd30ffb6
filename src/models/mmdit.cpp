#include "models/mmdit.h"

#include <cmath>

#include "base/error.h"
#include "device/device.h"
#include "nn/embeddings.h"
#include "nn/tokens.h"

namespace gesso {
namespace {

constexpr float kEps = 1e-6f;
constexpr int kPatchSize = 2;
constexpr Patch kPatch{.size = kPatchSize, .channels_first = false};

}  // namespace

MmDit::SelfAttention::SelfAttention(const WeightScope& w, int64_t width)
    : q(w / "q", width, width), k(w / "k", width, width), v(w / "v", width, width) {
  if (w.has("proj.weight")) proj.emplace(w / "proj", width, width);
  if (w.has("ln_q.weight")) {
    query_norm.emplace(w / "ln_q", w.extent("ln_q.weight", 0), kEps);
    key_norm.emplace(w / "ln_k", w.extent("ln_q.weight", 0), kEps);
  }
}

MmDit::Side::Side(const WeightScope& w, int64_t width) : attn(w / "attn", width) {
  if (w.has("shift.weight")) {
    shift = {w / "shift", width, width};
    scale = {w / "scale", width, width};
    return;
  }
  if (w.has("attn2.q.weight")) attn2.emplace(w / "attn2", width);
  modulation = {w / "adaLN_modulation.1", width, (attn2 ? 9 : 6) * width};
  mlp.emplace(w / "mlp", "fc1", "fc2", Activation::kGeluTanh);
  for (const auto* attention : {&attn, attn2 ? &*attn2 : &attn})
    if (!attention->proj) w.store().missing((w / "attn.proj.weight").prefix(), "");
}

MmDit::JointBlock::JointBlock(const WeightScope& w, int64_t width)
    : x(w / "x_block", width), context(w / "context_block", width) {}

MmDit::MmDit(const WeightScope& w, const Config& config)
    : x_embedder_(w / "x_embedder.proj", w.extent("x_embedder.proj.weight", 1), w.extent("x_embedder.proj.weight", 0),
                  kPatchSize),
      context_embedder_(nn::linear_by_shape(w / "context_embedder")),
      t_embedder_(w / "t_embedder.mlp", "0", "2", Activation::kSilu),
      y_embedder_(w / "y_embedder.mlp", "0", "2", Activation::kSilu),
      final_shift_(nn::linear_by_shape(w / "final_layer.shift")),
      final_scale_(nn::linear_by_shape(w / "final_layer.scale")),
      final_linear_(nn::linear_by_shape(w / "final_layer.linear")),
      width_(x_embedder_.weight->shape()[0]) {
  x_embedder_.attrs = {.stride = kPatchSize};
  const Shape stored = w.shape("pos_embed.weight").value_or(Shape{});
  const int64_t cells = width_ > 0 ? stored.elements() / width_ : 0;
  side_ = std::llround(std::sqrt(static_cast<double>(cells)));
  if (side_ * side_ != cells || cells == 0)
    fail(ErrorCode::kBadFile, "pos_embed of the {} is no square of positions: {}", w.store().component(),
         to_string(stored));
  pos_embed_ = w.get("pos_embed.weight", {cells, width_});
  const int blocks = w.count("joint_blocks", "x_block.attn.q.weight");
  for (int i = 0; i < blocks; ++i) blocks_.emplace_back(w / "joint_blocks" / i, width_);
  if (blocks_.empty()) w.store().missing("joint_blocks.0.x_block.attn.q.weight", "");
  for (size_t i = 0; i < blocks_.size(); ++i)
    if (blocks_[i].x.last() || blocks_[i].context.last() != (i + 1 == blocks_.size()))
      fail(ErrorCode::kBadFile, "block {} of the {} has the parts of another one: the file is incomplete", i,
           w.store().component());
  const auto& norm = blocks_.front().x.attn.query_norm;
  const int64_t head = norm ? norm->scale->shape()[0] : config.head_channels;
  if (head < 1 || width_ % head != 0)
    fail(ErrorCode::kBadFile, "the {}: {} channels do not divide into heads of {}", w.store().component(), width_,
         head);
  attention_ = {.heads = static_cast<int>(width_ / head), .scale = 1.f / std::sqrt(static_cast<float>(head))};
}

MmDit::Streams MmDit::run(const JointBlock& block, const Streams& s, const Tensor& vector) const {
  const Side &px = block.x, &tx = block.context;
  const nn::Chunks mod(px.modulation(vector), width_);
  const Tensor text_vectors = tx.last() ? concat(tx.shift(vector), tx.scale(vector)) : tx.modulation(vector);
  const nn::Chunks text_mod(text_vectors, width_);
  Tensor q, k, v;
  {
    const Tensor x = modulated_norm(s.x, mod[0], mod[1], kEps);
    const Tensor t = modulated_norm(s.context, text_mod[0], text_mod[1], kEps);
    q = nn::join_tokens(tx.attn.queries(t), px.attn.queries(x));
    k = nn::join_tokens(tx.attn.keys(t), px.attn.keys(x));
    v = nn::join_tokens(tx.attn.v(t), px.attn.v(x));
  }
  const Tensor y = attention(q, k, v, attention_);
  const int64_t text = s.context.dim(1);
  const auto feed_forward = [&](const Side& side, const nn::Chunks& m, const Tensor& h) {
    return gated_add((*side.mlp)(modulated_norm(h, m[3], m[4], kEps)), m[5], h);
  };

  Tensor x = gated_add((*px.attn.proj)(nn::pick_tokens(y, text, y.dim(1))), mod[2], s.x);
  if (px.attn2) {  // the picture alone once more, from what the block began with
    const Tensor h = modulated_norm(s.x, mod[6], mod[7], kEps);
    const Tensor z = attention(px.attn2->queries(h), px.attn2->keys(h), px.attn2->v(h), attention_);
    x = gated_add((*px.attn2->proj)(z), mod[8], x);
  }
  x = feed_forward(px, mod, x);
  if (tx.last()) return {x, s.context};
  const Tensor context = gated_add((*tx.attn.proj)(nn::pick_tokens(y, 0, text)), text_mod[2], s.context);
  return {x, feed_forward(tx, text_mod, context)};
}

Tensor MmDit::positions(const Tensor& x, int64_t rows, int64_t columns) const {
  if (rows > side_ || columns > side_)
    fail(ErrorCode::kUsage, "this model paints at most {} tokens along a side; {} x {} were asked for", side_, columns,
         rows);
  // The middle of the square of positions that the model was trained with.
  const int64_t top = (side_ - rows) / 2, left = (side_ - columns) / 2;
  std::vector<int32_t> cells;
  for (int64_t n = 0; n < x.dim(0); ++n)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        cells.push_back(static_cast<int32_t>((top + row) * side_ + left + column));
  return embedding(x.device(), cells, pos_embed_, x.dtype()).reshape(x.shape());
}

Tensor MmDit::operator()(const Tensor& x, std::span<const float> timesteps, const Tensor& context,
                         const Tensor& vector) const {
  Device& device = x.device();
  Tensor embed = y_embedder_(vector);
  embed =
      t_embedder_(nn::sinusoids(device, timesteps, t_embedder_.in.weight->shape()[1], x.dtype()), {.residual = embed});
  embed = activate(embed, Activation::kSilu);  // every modulation begins with it

  const Tensor patches = x_embedder_(x);
  const int64_t n = x.dim(0), rows = patches.dim(1), columns = patches.dim(2);
  const Tensor tokens = patches.reshape({n, rows * columns, width_});
  Streams streams{tokens + positions(tokens, rows, columns), context_embedder_(context)};
  for (const JointBlock& block : blocks_) streams = run(block, streams, embed);
  const Tensor h = final_linear_(modulated_norm(streams.x, final_shift_(embed), final_scale_(embed), kEps));
  return unpatchify(h.reshape({n, rows, columns, h.dim(2)}), kPatch);
}

}  // namespace gesso
