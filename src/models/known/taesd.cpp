#include "models/known/known.h"

namespace gesso {

const Family& taesd_family() {
  static const Family family{
      .id = "taesd",
      .title = "TAESD",
      .kinds =
          {
              {.role = Role::kTinyVae,
               .scheme = "TAESD",
               .has = {{"#.conv.0.weight", {64, 64, 3, 3}}, {"#.weight", {64, kAny, 3, 3}}},
               .any = {{"0.weight", {kAny, 3, 3, 3}}, {"1.weight", {kAny, kAny, 3, 3}}},
               .owns = {"#"},
               .variants = {{"encoder", {{"0.weight", {kAny, 3, 3, 3}}}}, {"decoder"}}},
          },
  };
  return family;
}

}  // namespace gesso
