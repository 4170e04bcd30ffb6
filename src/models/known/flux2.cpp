#include "models/known/known.h"

namespace gesso {

const Family& flux2_family() {
  static const Family family{
      .id = "flux2",
      .title = "FLUX.2",
      .needs = {Role::kLanguageModel, Role::kVae},
      .kinds =
          {
              {.role = Role::kDiffusionModel,
               .scheme = "BFL",
               .has = {{"double_stream_modulation_img.lin.weight"},
                       {"img_in.weight"},
                       {"single_blocks.#.linear1.weight"}},
               .owns = {"double_blocks", "single_blocks", "double_stream_modulation_img",
                        "double_stream_modulation_txt", "single_stream_modulation", "img_in", "txt_in", "time_in",
                        "guidance_in", "final_layer"},
               .variants = {{"dev", {{"guidance_in.in_layer.weight"}}},
                            {"klein 4B", {{"img_in.weight", {3072, kAny}}}},
                            {"klein 9B", {{"img_in.weight", {4096, kAny}}}}}},
              {.role = Role::kDiffusionModel,
               .scheme = "diffusers",
               .has = {{"double_stream_modulation_img.linear.weight"},
                       {"x_embedder.weight"},
                       {"single_transformer_blocks.#.attn.to_qkv_mlp_proj.weight"}},
               .owns = {"transformer_blocks", "single_transformer_blocks", "double_stream_modulation_img",
                        "double_stream_modulation_txt", "single_stream_modulation", "x_embedder", "context_embedder",
                        "time_guidance_embed", "norm_out", "proj_out"},
               .variants = {{"dev", {{"time_guidance_embed.guidance_embedder.linear_1.weight"}}},
                            {"klein 4B", {{"x_embedder.weight", {3072, kAny}}}},
                            {"klein 9B", {{"x_embedder.weight", {4096, kAny}}}}}},
              {.role = Role::kVae,
               .scheme = "diffusers",
               .has = {{"bn.running_mean"}, {"decoder.mid_block.resnets.0.norm1.weight"}},
               .owns = {"bn", "encoder", "decoder", "quant_conv", "post_quant_conv"}},
              {.role = Role::kLora,
               .any = {{"single_transformer_blocks_#_attn_to_qkv_mlp_proj"}, {"double_stream_modulation_img_lin"}}},
          },
  };
  return family;
}

}  // namespace gesso
