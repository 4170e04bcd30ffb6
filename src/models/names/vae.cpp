#include "models/names/vae.h"

#include <algorithm>

#include "models/names/inverse.h"

namespace gesso {
namespace {

constexpr Leaf kResnet[] = {
    {"norm1", "norm1"},
    {"conv1", "conv1"},
    {"norm2", "norm2"},
    {"conv2", "conv2"},
    {.theirs = "conv_shortcut", .ours = "nin_shortcut", .optional = true},
};
constexpr Leaf kAttention[] = {
    {"group_norm", "norm"}, {"to_q", "q"}, {"to_k", "k"}, {"to_v", "v"}, {"to_out.0", "proj_out"},
};
constexpr Leaf kOldAttention[] = {{"query", "q"}, {"key", "k"}, {"value", "v"}, {"proj_attn", "proj_out"}};
constexpr Leaf kEnds[] = {{"conv_in", "conv_in"}, {"conv_norm_out", "norm_out"}, {"conv_out", "conv_out"}};
constexpr Leaf kResample[] = {{"conv", "conv"}};
constexpr Leaf kSingle[] = {{"", ""}};

constexpr Site kSites[] = {
    {"encoder.", kEnds, "encoder."},
    {"encoder.down.#.block.#.", kResnet},
    {"encoder.down.#.downsample.", kResample},
    {"encoder.mid.block_1.", kResnet, "encoder."},
    {"encoder.mid.attn_1.", kAttention, "encoder."},
    {"encoder.mid.block_2.", kResnet, "encoder."},
    {"quant_conv.", kSingle},
    {"post_quant_conv.", kSingle},
    {"decoder.", kEnds, "decoder."},
    {"decoder.mid.block_1.", kResnet, "decoder."},
    {"decoder.mid.attn_1.", kAttention, "decoder."},
    {"decoder.mid.block_2.", kResnet, "decoder."},
    {"decoder.up.#.block.#.", kResnet},
    {"decoder.up.#.upsample.", kResample},
};

// Slots: $r the level counted from the other end (diffusers counts up_blocks from the latent, we from the picture).
constexpr Rule kDiffusers[] = {
    {"encoder.down_blocks.#.resnets.#.", "encoder.down.$1.block.$2.", kResnet},
    {"encoder.down_blocks.#.downsamplers.0.", "encoder.down.$1.downsample.", kResample},
    {"encoder.mid_block.resnets.0.", "encoder.mid.block_1.", kResnet},
    {"encoder.mid_block.attentions.0.", "encoder.mid.attn_1.", kAttention},
    {"encoder.mid_block.attentions.0.", "encoder.mid.attn_1.", kOldAttention},
    {"encoder.mid_block.resnets.1.", "encoder.mid.block_2.", kResnet},
    {"encoder.", "encoder.", kEnds},
    {"quant_conv.", "quant_conv.", kSingle},
    {"post_quant_conv.", "post_quant_conv.", kSingle},
    {"decoder.mid_block.resnets.0.", "decoder.mid.block_1.", kResnet},
    {"decoder.mid_block.attentions.0.", "decoder.mid.attn_1.", kAttention},
    {"decoder.mid_block.attentions.0.", "decoder.mid.attn_1.", kOldAttention},
    {"decoder.mid_block.resnets.1.", "decoder.mid.block_2.", kResnet},
    {"decoder.up_blocks.#.resnets.#.", "decoder.up.$r.block.$2.", kResnet},
    {"decoder.up_blocks.#.upsamplers.0.", "decoder.up.$r.upsample.", kResample},
    {"decoder.", "decoder.", kEnds},
};

Place from_diffusers(const Names& names) {
  return [levels = names.count("decoder.up_blocks.#.", 0)](std::string_view name) {
    return place_by_rules(kDiffusers, name, [&](char slot, const Numbers& numbers) -> std::optional<int> {
      return slot == 'r' ? std::optional(levels - 1 - numbers[0]) : std::nullopt;
    });
  };
}

std::vector<Renamed> to_diffusers(const std::set<std::string>& ours) {
  int levels = 0;
  for (const std::string& name : ours)
    if (Numbers n; match_prefix("decoder.up.#.", name, &n)) levels = std::max(levels, n[0] + 1);
  const Place place = [levels](std::string_view name) {
    return place_by_rules(kDiffusers, name, [&](char slot, const Numbers& numbers) -> std::optional<int> {
      return slot == 'r' ? std::optional(levels - 1 - numbers[0]) : std::nullopt;
    });
  };
  return invert(place, candidates(kDiffusers, largest_number(ours)), ours);
}

Place as_is(const Names&) {
  return [](std::string_view name) { return place_as_is(kSites, name); };
}

}  // namespace

const Network& vae_network() {
  static const Network network{
      .name = "VAE",
      .sites = kSites,
      .namings = {{"LDM", {"decoder.mid.block_1.norm1.weight"}, as_is, same_names},
                  {"LDM", {"encoder.mid.block_1.norm1.weight"}, as_is, same_names},
                  {"diffusers", {"decoder.mid_block.resnets.0.norm1.weight"}, from_diffusers, to_diffusers},
                  {"diffusers", {"encoder.mid_block.resnets.0.norm1.weight"}, from_diffusers, to_diffusers}},
      .kernels = {"encoder.mid.attn_1.", "decoder.mid.attn_1."},
      // all of it: it is small, and its errors are seen as they are
      .sensitive = {""},
  };
  return network;
}

}  // namespace gesso
