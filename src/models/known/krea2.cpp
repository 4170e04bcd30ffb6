#include "models/known/known.h"

namespace gesso {

const Family& krea2_family() {
  static const Family family{
      .id = "krea2",
      .title = "Krea 2",
      .needs = {Role::kLanguageModel, Role::kVae},
      .kinds =
          {
              {.role = Role::kLora, .any = {{"blocks_#_attn_wq"}, {"txtfusion_layerwise_blocks_#_attn_wq"}}},
          },
  };
  return family;
}

}  // namespace gesso
