#include "models/known/known.h"

namespace gesso {

const Family& t5_family() {
  static const Family family{
      .id = "t5",
      .title = "T5",
      .kinds =
          {
              {.role = Role::kT5,
               .scheme = "HF",
               .has = {{"shared.weight"}, {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"}},
               .owns = {"shared", "encoder", "spiece_model"},
               .variants = {{"XXL", {{"shared.weight", {kAny, 4096}}}},
                            {"mT5-XL", {{"shared.weight", {250112, 2048}}}}}},
          },
  };
  return family;
}

}  // namespace gesso
