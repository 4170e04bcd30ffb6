#include "models/known/known.h"

namespace gesso {

const Family& hunyuan_video_family() {
  static const Family family{
      .id = "hunyuan_video",
      .title = "HunyuanVideo",
      .needs = {Role::kClipL, Role::kLanguageModel, Role::kVae},
      .kinds =
          {
              {.role = Role::kDiffusionModel,
               .scheme = "Hunyuan",
               .has = {{"txt_in.individual_token_refiner.blocks.0.norm1.weight"},
                       {"double_blocks.#.img_attn_qkv.weight"}},
               .owns = {"img_in", "txt_in", "time_in", "vector_in", "guidance_in", "double_blocks", "single_blocks",
                        "final_layer"},
               .variants = {{"text to video", {{"img_in.proj.weight", {kAny, 16, kAny, kAny, kAny}}}}}},
              {.role = Role::kVae,
               .scheme = "Hunyuan",
               .has = {{"decoder.conv_in.conv.weight", {kAny, 16, 3, 3, 3}},
                       {"decoder.mid_block.resnets.0.norm1.weight"},
                       {"post_quant_conv.weight", {16, 16, 1, 1, 1}}},
               .owns = {"encoder", "decoder", "quant_conv", "post_quant_conv"}},
              {.role = Role::kLora, .any = {{"double_blocks_#_img_attn_q"}, {"double_blocks_#_img_mod_linear"}}},
          },
  };
  return family;
}

}  // namespace gesso
