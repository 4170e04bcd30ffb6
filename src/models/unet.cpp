#include "models/unet.h"

#include <cmath>

#include "base/error.h"
#include "device/device.h"
#include "nn/embeddings.h"

namespace gesso {
namespace {

constexpr float kNormEps = 1e-5f, kTransformerNormEps = 1e-6f;

int64_t embed_width(const WeightScope& w) {
  return w.extent("time_embed.0.weight", 0);
}

nn::Conv2d conv_by_shape(const WeightScope& w) {
  return {w, w.extent("weight", 1), w.extent("weight", 0), 3};
}

}  // namespace

UNet::ResBlock::ResBlock(const WeightScope& w, int64_t embed_in, int groups)
    : in(w.extent("in_layers.2.weight", 1)),
      out(w.extent("in_layers.2.weight", 0)),
      norm_in(w / "in_layers.0", in, groups, kNormEps, Activation::kSilu),
      norm_out(w / "out_layers.0", out, groups, kNormEps, Activation::kSilu),
      conv_in(w / "in_layers.2", in, out, 3),
      conv_out(w / "out_layers.3", out, out, 3),
      embed(w / "emb_layers.1", embed_in, out) {
  if (in != out) skip.emplace(w / "skip_connection", in, out, 1);
}

Tensor UNet::ResBlock::operator()(const Tensor& x, const Tensor& activated_embed) const {
  const Tensor h = norm_out(conv_in(norm_in(x)), embed(activated_embed));
  return conv_out(h, {.residual = skip ? (*skip)(x) : x});
}

UNet::CrossAttention::CrossAttention(const WeightScope& w, int64_t width, int heads)
    : to_q(w / "to_q", width, width, false),
      to_k(w / "to_k", w.extent("to_k.weight", 1), width, false),
      to_v(w / "to_v", w.extent("to_k.weight", 1), width, false),
      to_out(w / "to_out.0", width, width),
      attrs{.heads = heads, .scale = 1.f / std::sqrt(static_cast<float>(width / heads))} {}

Tensor UNet::CrossAttention::operator()(const Tensor& x, const Tensor& context, const Tensor& residual) const {
  return to_out(attention(to_q(x), to_k(context), to_v(context), attrs), {.residual = residual});
}

UNet::TransformerBlock::TransformerBlock(const WeightScope& w, int64_t width, int heads)
    : norm1(w / "norm1", width),
      norm2(w / "norm2", width),
      norm3(w / "norm3", width),
      attn1(w / "attn1", width, heads),
      attn2(w / "attn2", width, heads),
      ff_in(w / "ff.net.0.proj", width, w.extent("ff.net.0.proj.weight", 0)),
      ff_out(w / "ff.net.2", w.extent("ff.net.2.weight", 1), width) {}

Tensor UNet::TransformerBlock::operator()(const Tensor& x, const Tensor& context) const {
  const Tensor h = norm1(x);
  const Tensor y = attn1(h, h, x);
  const Tensor z = attn2(norm2(y), context, y);
  return ff_out(geglu(ff_in(norm3(z))), {.residual = z});
}

UNet::SpatialTransformer::SpatialTransformer(const WeightScope& w, const Config& config)
    : channels(w.extent("proj_in.weight", 1)),
      norm(w / "norm", channels, config.groups, kTransformerNormEps),
      proj_in(w / "proj_in", channels, w.extent("proj_in.weight", 0)),
      proj_out(w / "proj_out", w.extent("proj_in.weight", 0), channels) {
  const int64_t width = w.extent("proj_in.weight", 0);
  const int heads =
      config.heads > 0 ? config.heads : static_cast<int>(std::max<int64_t>(1, width / config.head_channels));
  if (width % heads != 0)
    fail(ErrorCode::kBadFile, "{} of the {}: {} channels do not divide into {} attention heads", w.prefix(),
         w.store().component(), width, heads);
  const int depth = w.count("transformer_blocks", "norm1.weight");
  for (int i = 0; i < depth; ++i) blocks.emplace_back(w / "transformer_blocks" / i, width, heads);
}

Tensor UNet::SpatialTransformer::operator()(const Tensor& x, const Tensor& context) const {
  const Shape tokens{x.dim(0), x.dim(1) * x.dim(2), channels};
  Tensor h = proj_in(norm(x).reshape(tokens));
  for (const TransformerBlock& block : blocks) h = block(h, context);
  return proj_out(h, {.residual = x.reshape(tokens)}).reshape(x.shape());
}

UNet::Downsample::Downsample(const WeightScope& w) : conv(conv_by_shape(w / "op")) {
  conv.attrs.stride = 2;
}

UNet::Upsample::Upsample(const WeightScope& w) : conv(conv_by_shape(w / "conv")) {}

UNet::Block UNet::read_block(const WeightScope& w, const Config& config) {
  Block block;
  for (int i = 0;; ++i) {
    const WeightScope part = w / i;
    if (part.has("in_layers.2.weight")) {
      block.emplace_back(ResBlock(part, embed_width(WeightScope(w.store())), config.groups));
    } else if (part.has("proj_in.weight")) {
      block.emplace_back(SpatialTransformer(part, config));
      if (part.has("transformer_blocks.0.attn2.to_k.weight"))
        context_width_ = part.extent("transformer_blocks.0.attn2.to_k.weight", 1);
    } else if (part.has("op.weight")) {
      block.emplace_back(Downsample(part));
    } else if (part.has("conv.weight")) {
      block.emplace_back(Upsample(part));
    } else if (part.has("weight")) {
      block.emplace_back(conv_by_shape(part));
    } else {
      return block;
    }
  }
}

UNet::UNet(const WeightScope& w, const Config& config)
    : model_channels_(w.extent("time_embed.0.weight", 1)),
      in_channels_(w.extent("input_blocks.0.0.weight", 1)),
      time_embed_0_(nn::linear_by_shape(w / "time_embed.0")),
      time_embed_2_(nn::linear_by_shape(w / "time_embed.2")),
      out_norm_(w / "out.0", w.extent("out.0.weight", 0), config.groups, kNormEps, Activation::kSilu),
      out_conv_(conv_by_shape(w / "out.2")) {
  if (w.has("label_emb.0.0.weight")) {
    label_embed_0_ = nn::linear_by_shape(w / "label_emb.0.0");
    label_embed_2_ = nn::linear_by_shape(w / "label_emb.0.2");
  }
  const auto read_blocks = [&](const char* side) {
    std::vector<Block> blocks;
    for (;;) {
      Block block = read_block(w / side / static_cast<int>(blocks.size()), config);
      if (block.empty()) return blocks;
      blocks.push_back(std::move(block));
    }
  };
  input_blocks_ = read_blocks("input_blocks");
  middle_block_ = read_block(w / "middle_block", config);
  output_blocks_ = read_blocks("output_blocks");
  if (input_blocks_.size() != output_blocks_.size())
    fail(ErrorCode::kBadFile, "the {} has {} input blocks and {} output blocks: the file is incomplete",
         w.store().component(), input_blocks_.size(), output_blocks_.size());
}

Tensor UNet::run(const Block& block, Tensor x, const Tensor& embed, const Tensor& context, const Tensor& next) const {
  for (const Part& part : block) {
    if (const auto* conv = std::get_if<nn::Conv2d>(&part)) x = (*conv)(x);
    if (const auto* res = std::get_if<ResBlock>(&part)) x = (*res)(x, embed);
    if (const auto* transformer = std::get_if<SpatialTransformer>(&part)) x = (*transformer)(x, context);
    if (const auto* down = std::get_if<Downsample>(&part)) x = down->conv(x);
    if (const auto* up = std::get_if<Upsample>(&part)) x = up->conv(upsample_nearest(x, 2, next.dim(1), next.dim(2)));
  }
  return x;
}

Tensor UNet::operator()(const Tensor& x, std::span<const float> timesteps, const Tensor& context,
                        const Tensor& vector) const {
  Device& device = x.device();
  const Tensor sinusoid = nn::sinusoids(device, timesteps, model_channels_, x.dtype());
  const Epilogue silu{.activation = Activation::kSilu};
  Tensor embed;
  if (label_embed_0_) {
    const Tensor label = (*label_embed_2_)((*label_embed_0_)(vector, silu));
    embed = activate(time_embed_2_(time_embed_0_(sinusoid, silu), {.residual = label}), Activation::kSilu);
  } else {
    embed = time_embed_2_(time_embed_0_(sinusoid, silu), silu);  // every block begins with silu of it
  }

  Tensor h = x;
  std::vector<Tensor> skips;
  for (const Block& block : input_blocks_) {
    h = run(block, std::move(h), embed, context, {});
    skips.push_back(h);
  }
  h = run(middle_block_, std::move(h), embed, context, {});
  for (const Block& block : output_blocks_) {
    h = concat(h, skips.back());
    skips.pop_back();
    // An odd size is halved upwards; going back up, the next skip tells which of the two it was.
    h = run(block, std::move(h), embed, context, skips.empty() ? h : skips.back());
  }
  return out_conv_(out_norm_(h));
}

}  // namespace gesso
