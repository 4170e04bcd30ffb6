#include "models/names/mmdit.h"

#include <algorithm>
#include <iterator>

#include "models/names/inverse.h"

namespace gesso {
namespace {

constexpr Leaf kEnds[] = {
    {"pos_embed.proj", "x_embedder.proj"},
    {"context_embedder", "context_embedder"},
    {"proj_out", "final_layer.linear"},
    {"", "final_layer.shift"},
    {"", "final_layer.scale"},
};
constexpr Leaf kPositions[] = {{"", "pos_embed", false}};
constexpr Leaf kEmbedding[] = {{"linear_1", "mlp.0"}, {"linear_2", "mlp.2"}};
// The norms of queries and keys are those of 3.5; the second attention those of some blocks of 3.5 medium.
constexpr Leaf kPicture[] = {
    {"norm1.linear", "adaLN_modulation.1"},
    {"attn.to_q", "attn.q"},
    {"attn.to_k", "attn.k"},
    {"attn.to_v", "attn.v"},
    {"attn.to_out.0", "attn.proj"},
    {.theirs = "attn.norm_q", .ours = "attn.ln_q", .bias = false, .optional = true},
    {.theirs = "attn.norm_k", .ours = "attn.ln_k", .bias = false, .optional = true},
    {.theirs = "attn2.to_q", .ours = "attn2.q", .optional = true},
    {.theirs = "attn2.to_k", .ours = "attn2.k", .optional = true},
    {.theirs = "attn2.to_v", .ours = "attn2.v", .optional = true},
    {.theirs = "attn2.to_out.0", .ours = "attn2.proj", .optional = true},
    {.theirs = "attn2.norm_q", .ours = "attn2.ln_q", .bias = false, .optional = true},
    {.theirs = "attn2.norm_k", .ours = "attn2.ln_k", .bias = false, .optional = true},
    {"ff.net.0.proj", "mlp.fc1"},
    {"ff.net.2", "mlp.fc2"},
};
// The last block takes from the text only what attention needs.
constexpr Leaf kText[] = {
    {.theirs = "norm1_context.linear", .ours = "adaLN_modulation.1", .optional = true},
    {.theirs = "", .ours = "shift", .optional = true},
    {.theirs = "", .ours = "scale", .optional = true},
    {"attn.add_q_proj", "attn.q"},
    {"attn.add_k_proj", "attn.k"},
    {"attn.add_v_proj", "attn.v"},
    {.theirs = "attn.to_add_out", .ours = "attn.proj", .optional = true},
    {.theirs = "attn.norm_added_q", .ours = "attn.ln_q", .bias = false, .optional = true},
    {.theirs = "attn.norm_added_k", .ours = "attn.ln_k", .bias = false, .optional = true},
    {.theirs = "ff_context.net.0.proj", .ours = "mlp.fc1", .optional = true},
    {.theirs = "ff_context.net.2", .ours = "mlp.fc2", .optional = true},
};

constexpr Site kSites[] = {
    {"", kEnds, "joint_blocks."},
    {"", kPositions, "joint_blocks."},
    {"t_embedder.", kEmbedding, "joint_blocks."},
    {"y_embedder.", kEmbedding, "joint_blocks."},
    {"joint_blocks.#.x_block.", kPicture},
    {"joint_blocks.#.context_block.", kText},
};

constexpr Rule kDiffusers[] = {
    {"time_text_embed.timestep_embedder.", "t_embedder.", kEmbedding},
    {"time_text_embed.text_embedder.", "y_embedder.", kEmbedding},
    {"transformer_blocks.#.", "joint_blocks.$1.x_block.", kPicture},
    {"", "", kEnds},
};
constexpr Rule kDiffusersText[] = {{"transformer_blocks.#.", "joint_blocks.$1.context_block.", kText}};

constexpr Part kQkv[] = {{"q"}, {"k"}, {"v"}};
constexpr Part kShiftScale[] = {{"shift"}, {"scale"}};
constexpr Part kScaleShift[] = {{"scale"}, {"shift"}};

constexpr Fused kSaiFused[] = {
    {"joint_blocks.#.x_block.attn.qkv.", "joint_blocks.$1.x_block.attn.", kQkv},
    {"joint_blocks.#.x_block.attn2.qkv.", "joint_blocks.$1.x_block.attn2.", kQkv},
    {"joint_blocks.#.context_block.attn.qkv.", "joint_blocks.$1.context_block.attn.", kQkv},
    {"final_layer.adaLN_modulation.1.", "final_layer.", kShiftScale},
};
constexpr Fused kDiffusersFused[] = {{"norm_out.linear.", "final_layer.", kScaleShift}};
// Of the last block only.
constexpr Fused kSaiLast[] = {
    {"joint_blocks.#.context_block.adaLN_modulation.1.", "joint_blocks.$1.context_block.", kShiftScale}};
constexpr Fused kDiffusersLast[] = {
    {"transformer_blocks.#.norm1_context.linear.", "joint_blocks.$1.context_block.", kScaleShift}};

/// Whether the name is one of block `last`.
bool in_block(std::string_view pattern, std::string_view name, int last) {
  Numbers numbers;
  return match_prefix(pattern, name, &numbers) && numbers[0] == last;
}

Place from_sai(const Names& names) {
  return [last = names.count("joint_blocks.#.", 0) - 1](std::string_view name) -> std::vector<Placement> {
    if (name == "pos_embed") return {{.name = "pos_embed.weight"}};
    if (auto parts = place_fused(kSaiFused, name); !parts.empty()) return parts;
    if (in_block("joint_blocks.#.", name, last))
      if (auto parts = place_fused(kSaiLast, name); !parts.empty()) return parts;
    return place_as_is(kSites, name);
  };
}

Place from_diffusers(const Names& names) {
  return [last = names.count("transformer_blocks.#.", 0) - 1](std::string_view name) -> std::vector<Placement> {
    if (name == "pos_embed.pos_embed") return {{.name = "pos_embed.weight"}};
    if (auto parts = place_fused(kDiffusersFused, name); !parts.empty()) return parts;
    if (in_block("transformer_blocks.#.", name, last))
      if (auto parts = place_fused(kDiffusersLast, name); !parts.empty()) return parts;
    auto placed = place_by_rules(kDiffusers, name);
    return placed.empty() ? place_by_rules(kDiffusersText, name) : placed;
  };
}

/// What the functions above count in a file's names: its blocks, as many as there are in ours.
Names with_blocks(const std::set<std::string>& ours, const std::string& before) {
  std::vector<Names::Entry> entries;
  for (const std::string& name : ours)
    if (Numbers n; match_prefix("joint_blocks.#.", name, &n))
      entries.push_back({before + "." + std::to_string(n[0]) + ".", {}, 0});
  return Names(std::move(entries));
}

std::vector<Renamed> to_sai(const std::set<std::string>& ours) {
  const int most = largest_number(ours);
  std::vector<std::string> names = candidates(kSaiFused, most);
  std::ranges::move(candidates(kSaiLast, most), std::back_inserter(names));
  names.push_back("pos_embed");
  names.insert(names.end(), ours.begin(), ours.end());
  return invert(from_sai(with_blocks(ours, "joint_blocks")), names, ours);
}

std::vector<Renamed> to_diffusers(const std::set<std::string>& ours) {
  const int most = largest_number(ours);
  std::vector<std::string> names = candidates(kDiffusersFused, most);
  std::ranges::move(candidates(kDiffusersLast, most), std::back_inserter(names));
  std::ranges::move(candidates(kDiffusers, most), std::back_inserter(names));
  std::ranges::move(candidates(kDiffusersText, most), std::back_inserter(names));
  names.push_back("pos_embed.pos_embed");
  return invert(from_diffusers(with_blocks(ours, "transformer_blocks")), names, ours);
}

}  // namespace

const Network& mmdit_network() {
  static const Network network{
      .name = "MMDiT",
      .sites = kSites,
      .namings = {{"SAI", {"joint_blocks.0.x_block.attn.qkv.weight", "pos_embed"}, from_sai, to_sai},
                  {"diffusers",
                   {"pos_embed.pos_embed", "transformer_blocks.0.attn.add_k_proj.weight"},
                   from_diffusers,
                   to_diffusers}},
      .sensitive = {"x_embedder.", "context_embedder.", "t_embedder.", "y_embedder.", "pos_embed", "final_layer."},
  };
  return network;
}

}  // namespace gesso
