#include "models/names/t5.h"

#include "models/known/known.h"

namespace gesso {

const Family& t5_family() {
  static const Family family{
      .id = "t5",
      .title = "T5",
      .kinds =
          {
              {.role = Role::kT5,
               .network = &t5_network(),
               .has = {{"shared.weight"}, {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"}},
               .variants = {{"XXL", {{"shared.weight", {32128, 4096}}}},
                            {"mT5-XL", {{"shared.weight", {250112, 2048}}}, {}, false}},
               .supported = true},
          },
  };
  return family;
}

}  // namespace gesso
