#include "models/flux.h"

#include <array>
#include <cmath>

#include "base/error.h"
#include "device/device.h"
#include "nn/embeddings.h"
#include "nn/tokens.h"

namespace gesso {
namespace {

constexpr float kEps = 1e-6f;
constexpr double kTheta = 10000;
constexpr Patch kPatch{.size = 2, .channels_first = true};

/// Of a head of 128: 16 for an axis that text and picture leave at 0, 56 each for row and column.
std::array<int, 3> rope_widths(int64_t head) {
  const int first = static_cast<int>(head / 8), other = static_cast<int>(head / 16 * 7);
  return {first, other, other};
}

/// Text at the origin, then the picture's tokens by row and column.
Tensor positions_of(Device& device, int64_t text, int64_t rows, int64_t columns, int64_t head) {
  std::vector<nn::RopePosition> positions(static_cast<size_t>(text), nn::RopePosition{});
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t x = 0; x < columns; ++x) positions.push_back({0, static_cast<float>(y), static_cast<float>(x)});
  return nn::rope_table(device, positions, rope_widths(head), kTheta);
}

}  // namespace

Flux::Stream::Stream(const WeightScope& w, const char* side, int64_t width)
    : modulation(w / (std::string(side) + "_mod.lin"), width, 6 * width),
      mlp(w / (std::string(side) + "_mlp"), "0", "2", Activation::kGeluTanh) {
  const WeightScope attn = w / (std::string(side) + "_attn");
  q = {attn / "q", width, width};
  k = {attn / "k", width, width};
  v = {attn / "v", width, width};
  proj = {attn / "proj", width, width};
  query_norm = {attn / "query_norm", attn.extent("query_norm.weight", 0), kEps};
  key_norm = {attn / "key_norm", attn.extent("query_norm.weight", 0), kEps};
}

Flux::DoubleBlock::DoubleBlock(const WeightScope& w, int64_t width) : img(w, "img", width), txt(w, "txt", width) {}

Flux::SingleBlock::SingleBlock(const WeightScope& w, int64_t width)
    : modulation(w / "modulation.lin", width, 3 * width),
      q(w / "q", width, width),
      k(w / "k", width, width),
      v(w / "v", width, width),
      mlp(w / "mlp", width, w.extent("mlp.weight", 0)),
      linear2(w / "linear2", width + mlp.weight->shape()[0], width),
      query_norm(w / "query_norm", w.extent("query_norm.weight", 0), kEps),
      key_norm(w / "key_norm", w.extent("query_norm.weight", 0), kEps) {}

Flux::Flux(const WeightScope& w)
    : img_in_(nn::linear_by_shape(w / "img_in")),
      txt_in_(nn::linear_by_shape(w / "txt_in")),
      time_in_(w / "time_in", "in_layer", "out_layer", Activation::kSilu),
      vector_in_(w / "vector_in", "in_layer", "out_layer", Activation::kSilu),
      final_shift_(nn::linear_by_shape(w / "final_layer.shift")),
      final_scale_(nn::linear_by_shape(w / "final_layer.scale")),
      final_linear_(nn::linear_by_shape(w / "final_layer.linear")),
      width_(img_in_.weight->shape()[0]),
      head_((w / "double_blocks.0.img_attn").extent("query_norm.weight", 0)) {
  if (w.has("guidance_in.in_layer.weight"))
    guidance_in_.emplace(w / "guidance_in", "in_layer", "out_layer", Activation::kSilu);
  if (head_ < 32 || head_ % 32 != 0 || width_ % head_ != 0)
    fail(ErrorCode::kBadFile, "the {}: heads of {} channels do not fit its width of {}; wanted a multiple of 32",
         w.store().component(), head_, width_);
  if (img_in_.weight->shape()[1] != final_linear_.weight->shape()[0] || channels() * 4 != img_in_.weight->shape()[1])
    fail(ErrorCode::kBadFile, "the {} takes tokens of {} channels and makes tokens of {}", w.store().component(),
         img_in_.weight->shape()[1], final_linear_.weight->shape()[0]);
  const int doubles = w.count("double_blocks", "img_attn.q.weight"), singles = w.count("single_blocks", "q.weight");
  for (int i = 0; i < doubles; ++i) double_blocks_.emplace_back(w / "double_blocks" / i, width_);
  for (int i = 0; i < singles; ++i) single_blocks_.emplace_back(w / "single_blocks" / i, width_);
}

Tensor Flux::attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& positions) const {
  const Attention attrs{.heads = static_cast<int>(width_ / head_), .scale = 1.f / std::sqrt(static_cast<float>(head_))};
  return attention(rope(q, positions), rope(k, positions), v, attrs);
}

Flux::Streams Flux::run(const DoubleBlock& block, const Streams& x, const Tensor& vector,
                        const Tensor& positions) const {
  const nn::Chunks img_mod(block.img.modulation(vector), width_), txt_mod(block.txt.modulation(vector), width_);
  Tensor q, k, v;
  {
    const Tensor img = modulated_norm(x.img, img_mod[0], img_mod[1], kEps);
    const Tensor txt = modulated_norm(x.txt, txt_mod[0], txt_mod[1], kEps);
    const Stream &i = block.img, &t = block.txt;
    q = nn::join_tokens(t.query_norm.by_head(t.q(txt)), i.query_norm.by_head(i.q(img)));
    k = nn::join_tokens(t.key_norm.by_head(t.k(txt)), i.key_norm.by_head(i.k(img)));
    v = nn::join_tokens(t.v(txt), i.v(img));
  }
  const Tensor y = attend(q, k, v, positions);
  const int64_t text = x.txt.dim(1);
  const auto finish = [&](const Stream& stream, const nn::Chunks& mod, const Tensor& before, const Tensor& attended) {
    const Tensor h = gated_add(stream.proj(attended), mod[2], before);
    return gated_add(stream.mlp(modulated_norm(h, mod[3], mod[4], kEps)), mod[5], h);
  };
  return {finish(block.img, img_mod, x.img, nn::pick_tokens(y, text, y.dim(1))),
          finish(block.txt, txt_mod, x.txt, nn::pick_tokens(y, 0, text))};
}

Tensor Flux::run(const SingleBlock& block, const Tensor& x, const Tensor& vector, const Tensor& positions) const {
  const nn::Chunks mod(block.modulation(vector), width_);
  const Tensor h = modulated_norm(x, mod[0], mod[1], kEps);
  const Tensor y =
      attend(block.query_norm.by_head(block.q(h)), block.key_norm.by_head(block.k(h)), block.v(h), positions);
  return gated_add(block.linear2(concat(y, block.mlp(h, {.activation = Activation::kGeluTanh}))), mod[2], x);
}

Tensor Flux::operator()(const Tensor& x, std::span<const float> timesteps, const Tensor& context,
                        const Tensor& vector) const {
  Device& device = x.device();
  const Tensor patches = patchify(x, kPatch);
  const int64_t n = x.dim(0), rows = patches.dim(1), columns_ = patches.dim(2), text = context.dim(1);

  Tensor embed = vector_in_(columns(vector, 0, pooled_width()));
  embed = time_in_(nn::sinusoids(device, timesteps, guidance_width(), x.dtype()), {.residual = embed});
  if (guidance_in_)
    embed = (*guidance_in_)(columns(vector, pooled_width(), pooled_width() + guidance_width()), {.residual = embed});
  embed = activate(embed, Activation::kSilu);  // every modulation begins with it

  const Tensor positions = positions_of(device, text, rows, columns_, head_);
  Streams streams{img_in_(patches.reshape({n, rows * columns_, patches.dim(3)})), txt_in_(context)};
  for (const DoubleBlock& block : double_blocks_) streams = run(block, streams, embed, positions);
  Tensor h = nn::join_tokens(streams.txt, streams.img);
  streams = {};
  for (const SingleBlock& block : single_blocks_) h = run(block, h, embed, positions);
  h = modulated_norm(nn::pick_tokens(h, text, h.dim(1)), final_shift_(embed), final_scale_(embed), kEps);
  h = final_linear_(h);
  return unpatchify(h.reshape({n, rows, columns_, h.dim(2)}), kPatch);
}

}  // namespace gesso
