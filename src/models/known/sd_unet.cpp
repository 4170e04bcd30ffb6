#include "models/known/known.h"

namespace gesso {

// An adapter may touch only modules that the UNets of several versions share; then it is one of them, and which one
// neither names nor widths say.
const Family& sd_unet_family() {
  static const Family family{
      .id = "sd_unet",
      .title = "Stable Diffusion (which version, the file does not say)",
      .kinds =
          {
              {.role = Role::kLora,
               .any = {{"down_blocks_#_attentions_#_transformer_blocks_#_attn#_to_q"},
                       {"down_blocks_#_resnets_#_conv1"},
                       {"mid_block_attentions_#_transformer_blocks_#_attn#_to_q"},
                       {"up_blocks_#_attentions_#_transformer_blocks_#_attn#_to_q"},
                       {"input_blocks_#_#_transformer_blocks_#_attn#_to_q"},
                       {"input_blocks_#_#_in_layers_2"},
                       {"te:text_model_encoder_layers_#_self_attn_q_proj"},
                       {"te1:text_model_encoder_layers_#_self_attn_q_proj"}}},
          },
  };
  return family;
}

}  // namespace gesso
