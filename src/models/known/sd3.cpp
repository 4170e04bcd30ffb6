#include "models/known/known.h"

namespace gesso {

const Family& sd3_family() {
  static const Family family{
      .id = "sd3",
      .title = "Stable Diffusion 3",
      .needs = {Role::kClipL, Role::kClipG, Role::kT5, Role::kVae},
      .kinds =
          {
              {.role = Role::kDiffusionModel,
               .scheme = "SAI",
               .has = {{"joint_blocks.0.x_block.attn.qkv.weight"}, {"pos_embed"}, {"y_embedder.mlp.0.weight"}},
               .owns = {"joint_blocks", "pos_embed", "x_embedder", "y_embedder", "t_embedder", "context_embedder",
                        "final_layer"},
               .variants = {{"3.5 medium", {{"joint_blocks.0.x_block.attn2.qkv.weight"}}},
                            {"3.5 large", {{"joint_blocks.37.x_block.attn.qkv.weight"}}},
                            {"3 medium"}}},
              {.role = Role::kDiffusionModel,
               .scheme = "diffusers",
               .has = {{"pos_embed.pos_embed"},
                       {"time_text_embed.text_embedder.linear_1.weight"},
                       {"transformer_blocks.0.attn.add_k_proj.weight"}},
               .owns = {"transformer_blocks", "pos_embed", "time_text_embed", "context_embedder", "norm_out",
                        "proj_out"},
               .variants = {{"3.5 medium", {{"transformer_blocks.0.attn2.to_q.weight"}}},
                            {"3.5 large", {{"transformer_blocks.37.attn.to_q.weight"}}},
                            {"3 medium"}}},
              {.role = Role::kLora,
               .any = {{"joint_blocks_#_x_block_attn_qkv"},
                       {"joint_blocks_#_context_block_attn_qkv"},
                       {"transformer_blocks_#_attn_add_k_proj", {kAny, 1536}},
                       {"transformer_blocks_#_attn_add_k_proj", {kAny, 2432}}}},
          },
      .metadata_names = {"sd3", "stable-diffusion-3"},
  };
  return family;
}

}  // namespace gesso
