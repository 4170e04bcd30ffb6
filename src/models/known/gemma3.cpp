#include "models/known/known.h"

namespace gesso {

const Family& gemma3_family() {
  static const Family family{
      .id = "gemma3",
      .title = "Gemma 3",
      .kinds =
          {
              {.role = Role::kLanguageModel,
               .scheme = "HF",
               .has = {{"language_model.model.embed_tokens.weight"}, {"multi_modal_projector.mm_soft_emb_norm.weight"}},
               .owns = {"language_model", "vision_tower", "multi_modal_projector"},
               .variants = {{"12B", {{"language_model.model.embed_tokens.weight", {kAny, 3840}}}}}},
          },
  };
  return family;
}

}  // namespace gesso
