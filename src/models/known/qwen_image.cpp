#include "models/known/known.h"

namespace gesso {

const Family& qwen_image_family() {
  static const Family family{
      .id = "qwen_image",
      .title = "Qwen-Image",
      .needs = {Role::kLanguageModel, Role::kVae},
      .kinds =
          {
              {.role = Role::kDiffusionModel,
               .scheme = "diffusers",
               .has = {{"txt_norm.weight"}, {"transformer_blocks.#.img_mod.1.weight"}, {"img_in.weight"}},
               .owns = {"transformer_blocks", "txt_norm", "img_in", "txt_in", "time_text_embed", "norm_out", "proj_out",
                        "__index_timestep_zero__"},
               .variants = {{"Layered", {{"time_text_embed.addition_t_embedding.weight"}}}}},
              {.role = Role::kDiffusionModel,
               .scheme = "diffusers",
               .has = {{"txt_in.text_norm.weight"},
                       {"transformer_blocks.#.img_mlp.gate_up.weight"},
                       {"modulation.1.weight"}},
               .owns = {"transformer_blocks", "img_in", "modulation", "txt_in", "time_text_embed", "norm_out",
                        "proj_out"},
               .variants = {{"2.1"}}},
              {.role = Role::kControlNet,
               .scheme = "DiffSynth",
               .has = {{"controlnet_blocks.#.x_rms.weight"}, {"img_in.weight"}},
               .owns = {"controlnet_blocks", "img_in"},
               .variants = {{"blockwise, inpainting", {{"img_in.weight", {kAny, 68}}}}, {"blockwise"}}},
              {.role = Role::kVae,
               .scheme = "diffusers",
               .has = {{"decoder.mid_block.resnets.0.norm1.gamma"}, {"encoder.conv_in.weight", {kAny, kAny, 3, 3, 3}}},
               .owns = {"encoder", "decoder", "quant_conv", "post_quant_conv"},
               .variants = {{"Layered", {{"encoder.conv_in.weight", {kAny, 4, 3, 3, 3}}}}}},
              {.role = Role::kVae,
               .scheme = "Wan",
               .has = {{"decoder.middle.0.residual.0.gamma"},
                       {"decoder.head.0.gamma"},
                       {"conv1.weight", {128, 128, 1, 1, 1}}},
               .owns = {"encoder", "decoder", "conv1", "conv2"},
               .variants = {{"2.1"}}},
              {.role = Role::kLora,
               .any = {{"transformer_blocks_#_img_mlp_net_0_proj"},
                       {"transformer_blocks_#_img_mod_1"},
                       {"transformer_blocks_#_txt_mlp_net_2"},
                       {"transformer_blocks_59_attn_to_q"}}},
          },
      .metadata_names = {"qwen-image", "qwen_image"},
  };
  return family;
}

}  // namespace gesso
