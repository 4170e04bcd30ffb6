#include "models/names/t5.h"

namespace gesso {
namespace {

constexpr Leaf kBlock[] = {
    {"", "layer.0.layer_norm", false},
    {"", "layer.0.SelfAttention.q", false},
    {"", "layer.0.SelfAttention.k", false},
    {"", "layer.0.SelfAttention.v", false},
    {"", "layer.0.SelfAttention.o", false},
    {.theirs = "", .ours = "layer.0.SelfAttention.relative_attention_bias", .bias = false, .optional = true},
    {"", "layer.1.layer_norm", false},
    {"", "layer.1.DenseReluDense.wi_0", false},
    {"", "layer.1.DenseReluDense.wi_1", false},
    {"", "layer.1.DenseReluDense.wo", false},
};
constexpr Leaf kTable[] = {{"", "shared", false}};
constexpr Leaf kFinalNorm[] = {{"", "encoder.final_layer_norm", false}};

constexpr Site kSites[] = {
    {"", kTable, "encoder."},
    {"", kFinalNorm, "encoder."},
    {"encoder.block.#.", kBlock},
};

/// Some files hold the table a second time, as the encoder's own, and some only so.
Place as_is(const Names&) {
  return [](std::string_view name) -> std::vector<Placement> {
    if (name == "encoder.embed_tokens.weight") return {{.name = "shared.weight"}};
    if (name == "spiece_model") return {{.name = "spiece_model"}};  // the vocabulary, which is built in here
    return place_as_is(kSites, name);
  };
}

}  // namespace

const Network& t5_network() {
  static const Network network{
      .name = "T5 encoder",
      .sites = kSites,
      .namings = {{"HF",
                   {"encoder.block.#.layer.0.SelfAttention.q.weight",
                    "encoder.block.#.layer.1.DenseReluDense.wi_0.weight"},
                   as_is}},
  };
  return network;
}

}  // namespace gesso
