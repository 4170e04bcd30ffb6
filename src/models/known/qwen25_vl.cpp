#include "models/known/known.h"

namespace gesso {

const Family& qwen25_vl_family() {
  static const Family family{
      .id = "qwen25_vl",
      .title = "Qwen2.5-VL",
      .kinds =
          {
              {.role = Role::kLanguageModel,
               .scheme = "HF",
               .has = {{"model.embed_tokens.weight"},
                       {"visual.blocks.#.attn.qkv.weight"},
                       {"visual.merger.ln_q.weight"}},
               .owns = {"model", "visual", "lm_head"},
               .variants = {{"7B", {{"model.embed_tokens.weight", {kAny, 3584}}}}}},
          },
  };
  return family;
}

}  // namespace gesso
