#include "models/known/known.h"

namespace gesso {

// An adapter may touch only modules that several families have in common. Then it is for one of them, and neither names
// nor widths say for which; better to say so than to guess.
const Family& unclear_family() {
  static const Family family{
      .id = "unclear",
      .title = "a base model that the file does not tell",
      .kinds =
          {
              {.role = Role::kLora,
               .any = {{"down_blocks_#_attentions_#_transformer_blocks_#_attn#_to_q"},
                       {"down_blocks_#_resnets_#_conv1"},
                       {"mid_block_attentions_#_transformer_blocks_#_attn#_to_q"},
                       {"up_blocks_#_attentions_#_transformer_blocks_#_attn#_to_q"},
                       {"input_blocks_#_#_transformer_blocks_#_attn#_to_q"},
                       {"input_blocks_#_#_in_layers_2"},
                       {"transformer_blocks_#_attn_to_q"},
                       {"te:text_model_encoder_layers_#_self_attn_q_proj"},
                       {"te1:text_model_encoder_layers_#_self_attn_q_proj"}}},
          },
  };
  return family;
}

}  // namespace gesso
