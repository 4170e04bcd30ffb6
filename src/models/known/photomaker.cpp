#include "models/known/known.h"

namespace gesso {

const Family& photomaker_family() {
  static const Family family{
      .id = "photomaker",
      .title = "PhotoMaker",
      .kinds =
          {
              {.role = Role::kIdEncoder,
               .scheme = "PhotoMaker",
               .has = {{"qformer_perceiver.perceiver_resampler.layers.#.0.to_q.weight"}},
               .owns = {"qformer_perceiver", "id_encoder", "vision_model", "visual_projection", "fuse_module",
                        "lora_weights"},
               .variants = {{"v2"}}},
          },
  };
  return family;
}

}  // namespace gesso
