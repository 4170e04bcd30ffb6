#include "models/known/known.h"

namespace gesso {

const Family& clip_vision_family() {
  static const Family family{
      .id = "clip_vision",
      .title = "CLIP image encoder",
      .kinds =
          {
              {.role = Role::kVisionEncoder,
               .scheme = "HF",
               .has = {{"vision_model.embeddings.class_embedding"},
                       {"vision_model.encoder.layers.0.self_attn.q_proj.weight"}},
               .owns = {"vision_model", "visual_projection"},
               .variants = {{"L", {{"vision_model.embeddings.class_embedding", {1024}}}},
                            {"H", {{"vision_model.embeddings.class_embedding", {1280}}}},
                            {"bigG", {{"vision_model.embeddings.class_embedding", {1664}}}}}},
          },
  };
  return family;
}

}  // namespace gesso
