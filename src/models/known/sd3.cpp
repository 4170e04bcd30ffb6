#include "models/known/known.h"
#include "models/mmdit_diffusion.h"
#include "models/names/mmdit.h"

namespace gesso {

const Family& sd3_family() {
  static const Family family{
      .id = "sd3",
      .title = "Stable Diffusion 3",
      .needs = {Role::kClipL, Role::kClipG, Role::kVae},
      .optional = {Role::kT5},
      .kinds =
          {
              {.role = Role::kDiffusionModel,
               .network = &mmdit_network(),
               .has = {{"joint_blocks.0.x_block.attn.q.weight"}, {"pos_embed.weight"}, {"y_embedder.mlp.0.weight"}},
               .variants = {{"3.5 medium", {{"joint_blocks.0.x_block.attn2.q.weight"}}},
                            {"3.5 large", {{"joint_blocks.37.x_block.attn.q.weight"}}},
                            {"3 medium"}},
               .supported = true},
              {.role = Role::kLora,
               .any = {{"joint_blocks_#_x_block_attn_qkv"},
                       {"joint_blocks_#_context_block_attn_qkv"},
                       {"transformer_blocks_#_attn_add_k_proj", {kAny, 1536}},
                       {"transformer_blocks_#_attn_add_k_proj", {kAny, 2432}}}},
          },
      .make = make_mmdit,
      .metadata_names = {"sd3", "stable-diffusion-3"},
  };
  return family;
}

}  // namespace gesso
