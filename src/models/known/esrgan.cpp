#include "models/names/esrgan.h"

#include "models/known/known.h"
#include "upscale/compact_net.h"
#include "upscale/rrdb_net.h"

namespace gesso {
namespace {

template <typename Net>
std::unique_ptr<UpscaleNetwork> make(const WeightScope& w) {
  return std::make_unique<Net>(w);
}

Kind rrdb(const Network& network) {
  constexpr std::string_view kFirst = "conv_first.weight";
  return {.role = Role::kUpscaler,
          .network = &network,
          .has = {{kFirst}, {"body.0.rdb1.conv1.weight"}},
          .variants = {{"x2", {{kFirst, {kAny, 12, 3, 3}}, {"conv_up2.weight"}}, {"conv_up3.weight"}},
                       {"x1", {{kFirst, {kAny, 48, 3, 3}}, {"conv_up2.weight"}}, {"conv_up3.weight"}},
                       {"x8", {{kFirst, {kAny, 3, 3, 3}}, {"conv_up3.weight"}}, {"conv_up4.weight"}},
                       {"x4", {{kFirst, {kAny, 3, 3, 3}}, {"conv_up2.weight"}}, {"conv_up3.weight"}},
                       {"x2", {{kFirst, {kAny, 3, 3, 3}}, {"conv_up1.weight"}}, {"conv_up2.weight"}},
                       {"x1", {{kFirst, {kAny, 3, 3, 3}}}, {"conv_up1.weight"}}},
          .supported = true,
          .make_upscaler = make<RrdbNet>};
}

}  // namespace

const Family& esrgan_family() {
  static const Family family{
      .id = "esrgan",
      .title = "ESRGAN",
      .kinds = {rrdb(rrdb_network()),
                rrdb(old_rrdb_network()),
                {.role = Role::kUpscaler,
                 .network = &compact_network(),
                 .has = {{"convs.0.weight", {kAny, 3, 3, 3}},
                         {"slopes.0.weight", {kAny}},
                         {"convs.1.weight", {kAny, kAny, 3, 3}}},
                 .variants = {{"compact"}},
                 .supported = true,
                 .make_upscaler = make<CompactNet>}},
  };
  return family;
}

}  // namespace gesso
