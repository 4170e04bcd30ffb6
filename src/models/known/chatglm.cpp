#include "models/known/known.h"

namespace gesso {

const Family& chatglm_family() {
  static const Family family{
      .id = "chatglm3",
      .title = "ChatGLM3",
      .kinds =
          {
              {.role = Role::kLanguageModel,
               .scheme = "HF",
               .has = {{"transformer.embedding.word_embeddings.weight"},
                       {"transformer.encoder.final_layernorm.weight"}},
               .owns = {"transformer"}},
          },
  };
  return family;
}

}  // namespace gesso
