#include "models/known/known.h"

namespace gesso {

const Family& animatediff_family() {
  static const Family family{
      .id = "animatediff",
      .title = "AnimateDiff",
      .kinds =
          {
              {.role = Role::kMotionModule,
               .scheme = "AnimateDiff",
               .has = {{"down_blocks.0.motion_modules.0.temporal_transformer.norm.weight"}},
               .owns = {"down_blocks", "mid_block", "up_blocks"},
               .variants = {{"v2", {{"mid_block.motion_modules.0.temporal_transformer.norm.weight"}}},
                            {"XL", {}, {"down_blocks.3.motion_modules.0.temporal_transformer.norm.weight"}},
                            {"v1"}}},
          },
  };
  return family;
}

}  // namespace gesso
