#include "models/names/clip.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "models/names/inverse.h"

namespace gesso {
namespace {

constexpr Leaf kLayer[] = {
    {"ln_1", "layer_norm1"},  {"ln_2", "layer_norm2"},
    {"mlp.c_fc", "mlp.fc1"},  {"mlp.c_proj", "mlp.fc2"},
    {"", "self_attn.q_proj"}, {"", "self_attn.k_proj"},
    {"", "self_attn.v_proj"}, {"attn.out_proj", "self_attn.out_proj"},
};
constexpr Leaf kEmbeddings[] = {{"token_embedding", "token_embedding", false},
                                {"position_embedding", "position_embedding", false}};
constexpr Leaf kFinalNorm[] = {{"ln_final", "final_layer_norm"}};
constexpr Leaf kProjection[] = {{"text_projection", "text_projection", false, true}};

constexpr Site kSites[] = {
    {"text_model.embeddings.", kEmbeddings, "text_model."},
    {"text_model.encoder.layers.#.", kLayer},
    {"text_model.", kFinalNorm, "text_model."},
    {"", kProjection},
};

constexpr Leaf kToken[] = {{"token_embedding", "token_embedding", false}};
constexpr Rule kOpenClip[] = {
    {"", "text_model.embeddings.", kToken},
    {"transformer.resblocks.#.", "text_model.encoder.layers.$1.", kLayer},
    {"", "text_model.", kFinalNorm},
    {"", "", kProjection},
};

/// The three parts of a fused attention input, when the name is one.
std::vector<Placement> split_attention(std::string_view name) {
  for (const std::string_view parameter : {"weight", "bias"}) {
    Numbers numbers;
    if (!match("transformer.resblocks.#.attn.in_proj_" + std::string(parameter), name, &numbers)) continue;
    std::vector<Placement> parts;
    for (const char* projection : {"q", "k", "v"})
      parts.push_back({.name = "text_model.encoder.layers." + std::to_string(numbers[0]) + ".self_attn." + projection +
                               "_proj." + std::string(parameter),
                       .part = static_cast<int>(parts.size()),
                       .parts = 3});
    return parts;
  }
  return {};
}

Place from_open_clip(const Names&) {
  return [](std::string_view name) -> std::vector<Placement> {
    if (name == "positional_embedding") return {{.name = "text_model.embeddings.position_embedding.weight"}};
    if (name == "text_projection") return {{.name = "text_projection.weight", .transpose = true}};
    if (auto parts = split_attention(name); !parts.empty()) return parts;
    return place_by_rules(kOpenClip, name);
  };
}

std::vector<Renamed> to_open_clip(const std::set<std::string>& ours) {
  const int most = largest_number(ours);
  std::vector<std::string> names = {"positional_embedding", "text_projection"};
  for (int layer = 0; layer <= most; ++layer)
    for (const char* parameter : {"weight", "bias"})
      names.push_back(fmt::format("transformer.resblocks.{}.attn.in_proj_{}", layer, parameter));
  std::ranges::move(candidates(kOpenClip, most), std::back_inserter(names));
  return invert(from_open_clip(Names({})), names, ours);
}

Place as_is(const Names&) {
  return [](std::string_view name) { return place_as_is(kSites, name); };
}

Place without_text_model(const Names&) {
  return [](std::string_view name) {
    if (name == "text_projection.weight") return place_as_is(kSites, name);
    return place_as_is(kSites, "text_model." + std::string(name));
  };
}

}  // namespace

const Network& clip_network() {
  static const Network network{
      .name = "CLIP text encoder",
      .sites = kSites,
      .namings = {{"HF",
                   {"text_model.embeddings.position_embedding.weight", "text_model.encoder.layers.#.mlp.fc1.weight"},
                   as_is,
                   same_names},
                  {"HF without text_model",
                   {"embeddings.position_embedding.weight", "encoder.layers.#.mlp.fc1.weight"},
                   without_text_model},
                  {"OpenCLIP",
                   {"positional_embedding", "transformer.resblocks.#.attn.in_proj_weight"},
                   from_open_clip,
                   to_open_clip}},
      .sensitive = {"text_model.embeddings.", "text_projection"},
  };
  return network;
}

}  // namespace gesso
