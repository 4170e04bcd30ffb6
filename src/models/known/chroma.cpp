#include "models/known/known.h"

namespace gesso {

const Family& chroma_family() {
  static const Family family{
      .id = "chroma",
      .title = "Chroma",
      .needs = {Role::kT5, Role::kVae},
      .kinds =
          {
              {.role = Role::kDiffusionModel,
               .scheme = "BFL",
               .has = {{"distilled_guidance_layer.in_proj.weight"}, {"double_blocks.#.img_attn.qkv.weight"}},
               .owns = {"distilled_guidance_layer", "double_blocks", "single_blocks", "img_in", "txt_in",
                        "final_layer"}},
              {.role = Role::kDiffusionModel,
               .scheme = "diffusers",
               .has = {{"distilled_guidance_layer.in_proj.weight"}, {"transformer_blocks.#.attn.add_k_proj.weight"}},
               .owns = {"distilled_guidance_layer", "transformer_blocks", "single_transformer_blocks", "x_embedder",
                        "context_embedder", "proj_out"}},
          },
  };
  return family;
}

}  // namespace gesso
