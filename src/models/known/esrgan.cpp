#include "models/known/known.h"

namespace gesso {

const Family& esrgan_family() {
  static const Family family{
      .id = "esrgan",
      .title = "ESRGAN",
      .kinds =
          {
              {.role = Role::kUpscaler,
               .scheme = "RRDBNet",
               .has = {{"conv_first.weight"}, {"body.0.rdb1.conv1.weight"}, {"conv_last.weight"}},
               .owns = {"conv_first", "body", "conv_body", "conv_up1", "conv_up2", "conv_up3", "conv_hr", "conv_last"}},
              {.role = Role::kUpscaler,
               .scheme = "RRDBNet, old names",
               .has = {{"model.0.weight"}, {"model.1.sub.0.RDB1.conv1.0.weight"}},
               .owns = {"model"}},
              {.role = Role::kUpscaler,
               .scheme = "SRVGGNetCompact",
               .has = {{"body.0.weight", {kAny, 3, 3, 3}},
                       {"body.1.weight", {kAny}},
                       {"body.2.weight", {kAny, kAny, 3, 3}}},
               .owns = {"body"}},
          },
  };
  return family;
}

}  // namespace gesso
