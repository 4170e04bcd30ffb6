#include "models/known/known.h"

namespace gesso {

const Family& siglip_family() {
  static const Family family{
      .id = "siglip",
      .title = "SigLIP",
      .kinds =
          {
              {.role = Role::kVisionEncoder,
               .scheme = "HF",
               .has = {{"vision_model.head.probe"}, {"vision_model.encoder.layers.0.self_attn.q_proj.weight"}},
               .owns = {"vision_model", "text_model", "logit_scale", "logit_bias"},
               .variants = {{"with text encoder", {{"text_model.head.weight"}}}}},
          },
  };
  return family;
}

}  // namespace gesso
