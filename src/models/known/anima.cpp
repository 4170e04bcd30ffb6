#include "models/known/known.h"

namespace gesso {

const Family& anima_family() {
  static const Family family{
      .id = "anima",
      .title = "Anima",
      .needs = {Role::kLanguageModel, Role::kVae},
      .kinds =
          {
              {.role = Role::kDiffusionModel,
               .scheme = "Cosmos",
               .has = {{"blocks.#.adaln_modulation_cross_attn.1.weight"},
                       {"llm_adapter.embed.weight"},
                       {"x_embedder.proj.1.weight"}},
               .owns = {"blocks", "llm_adapter", "x_embedder", "t_embedder", "t_embedding_norm", "final_layer"}},
              {.role = Role::kLora,
               .any = {{"blocks_#_cross_attn_q_proj"}, {"blocks_#_self_attn_q_proj"}, {"blocks_#_cross_attn_k_proj"}}},
          },
  };
  return family;
}

}  // namespace gesso
