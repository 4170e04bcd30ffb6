#include "models/known/known.h"

namespace gesso {

const Family& clip_xlm_roberta_family() {
  static const Family family{
      .id = "clip_xlm_roberta",
      .title = "CLIP with XLM-RoBERTa",
      .kinds =
          {
              {.role = Role::kVisionEncoder,
               .scheme = "Wan",
               .has = {{"visual.cls_embedding"}, {"visual.transformer.0.norm1.weight"}},
               .owns = {"visual", "textual", "log_scale"}},
          },
  };
  return family;
}

}  // namespace gesso
