#include "models/names/t5.h"

#include "models/names/inverse.h"

namespace gesso {
namespace {

// Theirs are llama.cpp's.
constexpr Leaf kBlock[] = {
    {"attn_norm", "layer.0.layer_norm", false},
    {"attn_q", "layer.0.SelfAttention.q", false},
    {"attn_k", "layer.0.SelfAttention.k", false},
    {"attn_v", "layer.0.SelfAttention.v", false},
    {"attn_o", "layer.0.SelfAttention.o", false},
    {.theirs = "attn_rel_b", .ours = "layer.0.SelfAttention.relative_attention_bias", .bias = false, .optional = true},
    {"ffn_norm", "layer.1.layer_norm", false},
    {"ffn_gate", "layer.1.DenseReluDense.wi_0", false},
    {"ffn_up", "layer.1.DenseReluDense.wi_1", false},
    {"ffn_down", "layer.1.DenseReluDense.wo", false},
};
constexpr Leaf kTable[] = {{"token_embd", "shared", false}};
constexpr Leaf kFinalNorm[] = {{"enc.output_norm", "encoder.final_layer_norm", false}};

constexpr Site kSites[] = {
    {"", kTable, "encoder."},
    {"", kFinalNorm, "encoder."},
    {"encoder.block.#.", kBlock},
};

constexpr Rule kLlamaCpp[] = {{"", "", kTable}, {"", "", kFinalNorm}, {"enc.blk.#.", "encoder.block.$1.", kBlock}};

/// Some files hold the table a second time, as the encoder's own, and some only so.
Place as_is(const Names&) {
  return [](std::string_view name) -> std::vector<Placement> {
    if (name == "encoder.embed_tokens.weight") return {{.name = "shared.weight"}};
    if (name == "spiece_model") return {{.name = "spiece_model"}};  // the vocabulary, which is built in here
    return place_as_is(kSites, name);
  };
}

Place from_llama_cpp(const Names&) {
  return [](std::string_view name) { return place_by_rules(kLlamaCpp, name); };
}

}  // namespace

const Network& t5_network() {
  static const Network network{
      .name = "T5 encoder",
      .sites = kSites,
      .namings = {{"HF",
                   {"encoder.block.#.layer.0.SelfAttention.q.weight",
                    "encoder.block.#.layer.1.DenseReluDense.wi_0.weight"},
                   as_is,
                   same_names},
                  {"llama.cpp", {"enc.blk.#.attn_q.weight", "enc.blk.#.ffn_gate.weight"}, from_llama_cpp}},
      .sensitive = {"encoder.block.#.layer.0.SelfAttention.relative_attention_bias"},
  };
  return network;
}

}  // namespace gesso
