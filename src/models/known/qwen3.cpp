#include "models/known/known.h"

namespace gesso {

const Family& qwen3_family() {
  static const Family family{
      .id = "qwen3",
      .title = "Qwen3",
      .kinds =
          {
              {.role = Role::kLanguageModel,
               .scheme = "HF",
               .has = {{"model.embed_tokens.weight"},
                       {"model.layers.#.self_attn.q_norm.weight"},
                       {"model.layers.#.mlp.gate_proj.weight"}},
               .lacks = {"visual.merger.ln_q.weight"},
               .owns = {"model", "lm_head"},
               .variants = {{"0.6B", {{"model.embed_tokens.weight", {kAny, 1024}}}},
                            {"4B", {{"model.embed_tokens.weight", {kAny, 2560}}}},
                            {"8B", {{"model.embed_tokens.weight", {kAny, 4096}}}}}},
          },
  };
  return family;
}

}  // namespace gesso
