#include "models/known/known.h"

namespace gesso {

const Family& umt5_family() {
  static const Family family{
      .id = "umt5",
      .title = "umT5",
      .kinds =
          {
              {.role = Role::kT5,
               .scheme = "Wan",
               .has = {{"token_embedding.weight"},
                       {"blocks.#.pos_embedding.embedding.weight"},
                       {"blocks.#.ffn.gate.0.weight"}},
               .owns = {"token_embedding", "norm", "blocks"},
               .variants = {{"XXL", {{"token_embedding.weight", {kAny, 4096}}}}}},
              {.role = Role::kT5,
               .scheme = "HF",
               .has = {{"shared.weight"}, {"encoder.block.+.layer.0.SelfAttention.relative_attention_bias.weight"}},
               .owns = {"shared", "encoder"},
               .variants = {{"XXL", {{"shared.weight", {kAny, 4096}}}}}},
              {.role = Role::kT5,
               .scheme = "llama.cpp",
               .has = {{"token_embd.weight"}, {"enc.blk.+.attn_rel_b.weight"}},
               .owns = {"token_embd", "enc"},
               .variants = {{"XXL", {{"token_embd.weight", {kAny, 4096}}}}}},
          },
  };
  return family;
}

}  // namespace gesso
