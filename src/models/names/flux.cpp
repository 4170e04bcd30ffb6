#include "models/names/flux.h"

#include <algorithm>
#include <iterator>

#include "models/names/inverse.h"

namespace gesso {
namespace {

constexpr Leaf kEnds[] = {
    {"x_embedder", "img_in"},  {"context_embedder", "txt_in"}, {"proj_out", "final_layer.linear"},
    {"", "final_layer.shift"}, {"", "final_layer.scale"},
};
constexpr Leaf kEmbedding[] = {{"linear_1", "in_layer"}, {"linear_2", "out_layer"}};
constexpr Leaf kDouble[] = {
    {"norm1.linear", "img_mod.lin"},
    {"norm1_context.linear", "txt_mod.lin"},
    {"attn.to_q", "img_attn.q"},
    {"attn.to_k", "img_attn.k"},
    {"attn.to_v", "img_attn.v"},
    {"attn.to_out.0", "img_attn.proj"},
    {"attn.norm_q", "img_attn.query_norm", false},
    {"attn.norm_k", "img_attn.key_norm", false},
    {"attn.add_q_proj", "txt_attn.q"},
    {"attn.add_k_proj", "txt_attn.k"},
    {"attn.add_v_proj", "txt_attn.v"},
    {"attn.to_add_out", "txt_attn.proj"},
    {"attn.norm_added_q", "txt_attn.query_norm", false},
    {"attn.norm_added_k", "txt_attn.key_norm", false},
    {"ff.net.0.proj", "img_mlp.0"},
    {"ff.net.2", "img_mlp.2"},
    {"ff_context.net.0.proj", "txt_mlp.0"},
    {"ff_context.net.2", "txt_mlp.2"},
};
constexpr Leaf kSingle[] = {
    {"norm.linear", "modulation.lin"},
    {"attn.to_q", "q"},
    {"attn.to_k", "k"},
    {"attn.to_v", "v"},
    {"proj_mlp", "mlp"},
    {"proj_out", "linear2"},
    {"attn.norm_q", "query_norm", false},
    {"attn.norm_k", "key_norm", false},
};

constexpr Site kSites[] = {
    {"", kEnds, "double_blocks."},
    {"time_in.", kEmbedding, "double_blocks."},
    {"vector_in.", kEmbedding, "double_blocks."},
    {"guidance_in.", kEmbedding},
    {"double_blocks.#.", kDouble},
    {"single_blocks.#.", kSingle},
};

constexpr Rule kDiffusers[] = {
    {"time_text_embed.timestep_embedder.", "time_in.", kEmbedding},
    {"time_text_embed.text_embedder.", "vector_in.", kEmbedding},
    {"time_text_embed.guidance_embedder.", "guidance_in.", kEmbedding},
    {"transformer_blocks.#.", "double_blocks.$1.", kDouble},
    {"single_transformer_blocks.#.", "single_blocks.$1.", kSingle},
    {"", "", kEnds},
};

constexpr Part kQkv[] = {{"q"}, {"k"}, {"v"}};
constexpr Part kLinear1[] = {{"q"}, {"k"}, {"v"}, {"mlp", 4}};
constexpr Part kShiftScale[] = {{"shift"}, {"scale"}};
constexpr Part kScaleShift[] = {{"scale"}, {"shift"}};

constexpr Fused kBflFused[] = {
    {"double_blocks.#.img_attn.qkv.", "double_blocks.$1.img_attn.", kQkv},
    {"double_blocks.#.txt_attn.qkv.", "double_blocks.$1.txt_attn.", kQkv},
    {"single_blocks.#.linear1.", "single_blocks.$1.", kLinear1},
    {"final_layer.adaLN_modulation.1.", "final_layer.", kShiftScale},
};
constexpr Fused kDiffusersFused[] = {{"norm_out.linear.", "final_layer.", kScaleShift}};

// Norms of queries and keys, whose parameter is called `scale`.
constexpr std::string_view kBflNorms[][2] = {
    {"double_blocks.#.img_attn.norm.query_norm.scale", "double_blocks.$1.img_attn.query_norm.weight"},
    {"double_blocks.#.img_attn.norm.key_norm.scale", "double_blocks.$1.img_attn.key_norm.weight"},
    {"double_blocks.#.txt_attn.norm.query_norm.scale", "double_blocks.$1.txt_attn.query_norm.weight"},
    {"double_blocks.#.txt_attn.norm.key_norm.scale", "double_blocks.$1.txt_attn.key_norm.weight"},
    {"single_blocks.#.norm.query_norm.scale", "single_blocks.$1.query_norm.weight"},
    {"single_blocks.#.norm.key_norm.scale", "single_blocks.$1.key_norm.weight"},
};

Place from_bfl(const Names&) {
  return [](std::string_view name) -> std::vector<Placement> {
    if (auto parts = place_fused(kBflFused, name); !parts.empty()) return parts;
    for (const auto& [from, to] : kBflNorms)
      if (auto renamed = place_renamed(from, to, name); !renamed.empty()) return renamed;
    return place_as_is(kSites, name);
  };
}

Place from_diffusers(const Names&) {
  return [](std::string_view name) {
    auto parts = place_fused(kDiffusersFused, name);
    return parts.empty() ? place_by_rules(kDiffusers, name) : parts;
  };
}

/// `names` and `more` as one list.
std::vector<std::string> joined(std::vector<std::string> names, std::vector<std::string> more) {
  std::ranges::move(more, std::back_inserter(names));
  return names;
}

std::vector<Renamed> to_bfl(const std::set<std::string>& ours) {
  const int most = largest_number(ours);
  std::vector<std::string> names = candidates(kBflFused, most);
  for (const auto& [from, to] : kBflNorms) {
    const std::string_view pattern = from;
    const size_t slot = pattern.find('#');
    for (int i = 0; i <= most; ++i)
      names.push_back(std::string(pattern.substr(0, slot)) + std::to_string(i) + std::string(pattern.substr(slot + 1)));
  }
  names.insert(names.end(), ours.begin(), ours.end());
  return invert(from_bfl(Names({})), names, ours);
}

std::vector<Renamed> to_diffusers(const std::set<std::string>& ours) {
  const int most = largest_number(ours);
  return invert(from_diffusers(Names({})), joined(candidates(kDiffusersFused, most), candidates(kDiffusers, most)),
                ours);
}

}  // namespace

const Network& flux_network() {
  static const Network network{
      .name = "FLUX transformer",
      .sites = kSites,
      .namings = {{"BFL",
                   {"img_in.weight", "double_blocks.#.img_attn.qkv.weight", "single_blocks.#.linear1.weight"},
                   from_bfl,
                   to_bfl},
                  {"diffusers",
                   {"x_embedder.weight", "transformer_blocks.#.attn.add_k_proj.weight",
                    "single_transformer_blocks.#.proj_mlp.weight"},
                   from_diffusers,
                   to_diffusers}},
      .sensitive = {"img_in.", "txt_in.", "time_in.", "vector_in.", "guidance_in.", "final_layer."},
  };
  return network;
}

}  // namespace gesso
