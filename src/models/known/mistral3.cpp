#include "models/known/known.h"

namespace gesso {

const Family& mistral3_family() {
  static const Family family{
      .id = "mistral3",
      .title = "Mistral Small 3",
      .kinds =
          {
              {.role = Role::kLanguageModel,
               .scheme = "HF",
               .has = {{"language_model.model.embed_tokens.weight"},
                       {"multi_modal_projector.patch_merger.merging_layer.weight"}},
               .owns = {"language_model", "vision_tower", "multi_modal_projector"}},
              {.role = Role::kLanguageModel,
               .scheme = "HF",
               .has = {{"model.embed_tokens.weight", {131072, 5120}}, {"model.layers.#.mlp.gate_proj.weight"}},
               .owns = {"model", "lm_head", "tekken_model"},
               .variants = {{"without image encoder"}}},
          },
  };
  return family;
}

}  // namespace gesso
