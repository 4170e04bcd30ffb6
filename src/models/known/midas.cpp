#include "models/known/known.h"

namespace gesso {

const Family& midas_family() {
  static const Family family{
      .id = "midas",
      .title = "MiDaS",
      .kinds =
          {
              {.role = Role::kDepthModel,
               .scheme = "LDM",
               .has = {{"pretrained.model.blocks.0.attn.proj.bias"}, {"scratch.refinenet1.out_conv.bias"}},
               .owns = {"pretrained", "scratch"}},
          },
  };
  return family;
}

}  // namespace gesso
