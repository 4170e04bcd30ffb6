#include "models/names/unet.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/names/inverse.h"

namespace gesso {
namespace {

constexpr Leaf kResnet[] = {
    {"norm1", "in_layers.0"},          {"conv1", "in_layers.2"},
    {"time_emb_proj", "emb_layers.1"}, {"norm2", "out_layers.0"},
    {"conv2", "out_layers.3"},         {.theirs = "conv_shortcut", .ours = "skip_connection", .optional = true},
};
constexpr Leaf kTransformer[] = {
    {"norm", "norm"},
    {"proj_in", "proj_in"},
    {"proj_out", "proj_out"},
    {"transformer_blocks.#.norm1", "transformer_blocks.#.norm1"},
    {"transformer_blocks.#.norm2", "transformer_blocks.#.norm2"},
    {"transformer_blocks.#.norm3", "transformer_blocks.#.norm3"},
    {"transformer_blocks.#.attn1.to_q", "transformer_blocks.#.attn1.to_q", false},
    {"transformer_blocks.#.attn1.to_k", "transformer_blocks.#.attn1.to_k", false},
    {"transformer_blocks.#.attn1.to_v", "transformer_blocks.#.attn1.to_v", false},
    {"transformer_blocks.#.attn1.to_out.0", "transformer_blocks.#.attn1.to_out.0"},
    {"transformer_blocks.#.attn2.to_q", "transformer_blocks.#.attn2.to_q", false},
    {"transformer_blocks.#.attn2.to_k", "transformer_blocks.#.attn2.to_k", false},
    {"transformer_blocks.#.attn2.to_v", "transformer_blocks.#.attn2.to_v", false},
    {"transformer_blocks.#.attn2.to_out.0", "transformer_blocks.#.attn2.to_out.0"},
    {"transformer_blocks.#.ff.net.0.proj", "transformer_blocks.#.ff.net.0.proj"},
    {"transformer_blocks.#.ff.net.2", "transformer_blocks.#.ff.net.2"},
};
constexpr Leaf kEmbedding[] = {{"linear_1", "0"}, {"linear_2", "2"}};
constexpr Leaf kOutput[] = {{"conv_norm_out", "0"}, {"conv_out", "2"}};
constexpr Leaf kDownsample[] = {{"conv", "op"}};
constexpr Leaf kUpsample[] = {{"conv", "conv"}};
constexpr Leaf kSingle[] = {{"", ""}};

constexpr Site kSites[] = {
    {"time_embed.", kEmbedding, "input_blocks."},
    {"label_emb.0.", kEmbedding},
    {"input_blocks.0.0.", kSingle, "input_blocks."},
    {"input_blocks.#.0.", kResnet},
    {"input_blocks.#.0.", kDownsample},
    {"input_blocks.#.1.", kTransformer},
    {"middle_block.0.", kResnet},
    {"middle_block.1.", kTransformer},
    {"middle_block.2.", kResnet},
    {"output_blocks.#.0.", kResnet},
    {"output_blocks.#.1.", kTransformer},
    {"output_blocks.#.1.", kUpsample},
    {"output_blocks.#.2.", kUpsample},
    {"out.", kOutput, "input_blocks."},
};

// Slots, with n the number of resnets of a level: $i $d input block of a resnet, of a downsampler; $o $u output block
// of a resnet, of an upsampler; $p the upsampler's place in its block, behind the transformer where there is one.
constexpr Rule kDiffusers[] = {
    {"time_embedding.", "time_embed.", kEmbedding},
    {"add_embedding.", "label_emb.0.", kEmbedding},
    {"class_embedding.", "label_emb.0.", kEmbedding},
    {"conv_in.", "input_blocks.0.0.", kSingle},
    {"down_blocks.#.resnets.#.", "input_blocks.$i.0.", kResnet},
    {"down_blocks.#.attentions.#.", "input_blocks.$i.1.", kTransformer},
    {"down_blocks.#.downsamplers.0.", "input_blocks.$d.0.", kDownsample},
    {"mid_block.resnets.0.", "middle_block.0.", kResnet},
    {"mid_block.attentions.0.", "middle_block.1.", kTransformer},
    {"mid_block.resnets.1.", "middle_block.2.", kResnet},
    {"up_blocks.#.resnets.#.", "output_blocks.$o.0.", kResnet},
    {"up_blocks.#.attentions.#.", "output_blocks.$o.1.", kTransformer},
    {"up_blocks.#.upsamplers.0.", "output_blocks.$u.$p.", kUpsample},
    {"", "out.", kOutput},
};

/// What the arithmetic of block numbers needs to know of a file.
struct Layout {
  int down = 0, up = 0;             ///< resnets a level
  std::set<int> up_with_attention;  ///< levels
};

Layout layout_of(const Names& names) {
  Layout layout;
  layout.down = names.count("down_blocks.#.resnets.#.", 1);
  layout.up = names.count("up_blocks.#.resnets.#.", 1);
  for (const Names::Entry& entry : names.entries()) {
    Numbers numbers;
    if (match_prefix("up_blocks.#.attentions.#.", entry.name, &numbers)) layout.up_with_attention.insert(numbers[0]);
  }
  return layout;
}

std::optional<int> slot_value(const Layout& layout, char slot, const Numbers& numbers) {
  constexpr int kMaxLevel = 64;  // far beyond any network, and far from overflow
  const int level = numbers[0], inner = numbers.size() > 1 ? numbers[1] : 0;
  if (level > kMaxLevel || layout.down > kMaxLevel || layout.up > kMaxLevel) return std::nullopt;
  switch (slot) {
    case 'i':
      if (inner >= layout.down) return std::nullopt;
      return 1 + level * (layout.down + 1) + inner;
    case 'd':
      return (level + 1) * (layout.down + 1);
    case 'o':
      if (inner >= layout.up) return std::nullopt;
      return level * layout.up + inner;
    case 'u':
      return (level + 1) * layout.up - 1;
    case 'p':
      return layout.up_with_attention.contains(level) ? 2 : 1;
    default:
      return std::nullopt;
  }
}

Place from_diffusers(const Names& names) {
  return [layout = layout_of(names)](std::string_view name) {
    return place_by_rules(kDiffusers, name, [&](char slot, const Numbers& n) { return slot_value(layout, slot, n); });
  };
}

/// The layout of a network with these names (ours).
Layout layout_of(const std::set<std::string>& ours) {
  Layout layout;
  int inputs = 0, outputs = 0, levels = 1;
  std::set<int> attentions;
  for (const std::string& name : ours) {
    Numbers n;
    if (match("input_blocks.#.0.op.weight", name, &n)) {
      if (layout.down == 0 || n[0] - 1 < layout.down) layout.down = n[0] - 1;
      ++levels;
    } else if (match_prefix("input_blocks.#.", name, &n)) {
      inputs = std::max(inputs, n[0]);
    } else if (match("output_blocks.#.1.norm.weight", name, &n)) {
      attentions.insert(n[0]);
    } else if (match_prefix("output_blocks.#.", name, &n)) {
      outputs = std::max(outputs, n[0] + 1);
    }
  }
  if (levels == 1) layout.down = inputs;
  layout.up = outputs / levels;
  for (const int block : attentions)
    if (layout.up > 0) layout.up_with_attention.insert(block / layout.up);
  return layout;
}

std::vector<Renamed> to_diffusers(const std::set<std::string>& ours) {
  const Layout layout = layout_of(ours);
  const Place place = [&](std::string_view name) {
    return place_by_rules(kDiffusers, name, [&](char slot, const Numbers& n) { return slot_value(layout, slot, n); });
  };
  return invert(place, candidates(kDiffusers, largest_number(ours)), ours);
}

Place as_is(const Names&) {
  return [](std::string_view name) { return place_as_is(kSites, name); };
}

/// Every input block hands its result to an output block, so there are as many of one as of the other.
std::vector<std::string> unpaired_blocks(const std::set<std::string>& names) {
  int inputs = 0, outputs = 0;
  for (const std::string& name : names) {
    Numbers numbers;
    if (match_prefix("input_blocks.#.0.", name, &numbers)) inputs = std::max(inputs, numbers[0] + 1);
    if (match_prefix("output_blocks.#.0.", name, &numbers)) outputs = std::max(outputs, numbers.back() + 1);
  }
  if (inputs == outputs) return {};
  const bool input_missing = inputs < outputs;
  return {fmt::format("{}_blocks.{}.*", input_missing ? "input" : "output", input_missing ? inputs : outputs)};
}

}  // namespace

const Network& unet_network() {
  static const Network network{
      .name = "UNet",
      .sites = kSites,
      .namings =
          {{"LDM", {"input_blocks.0.0.weight"}, as_is, same_names},
           {"diffusers", {"conv_in.weight", "down_blocks.0.resnets.0.norm1.weight"}, from_diffusers, to_diffusers}},
      .also_missing = unpaired_blocks,
      .sensitive = {"time_embed.", "label_emb.", "input_blocks.0.0.", "out."},
  };
  return network;
}

}  // namespace gesso
