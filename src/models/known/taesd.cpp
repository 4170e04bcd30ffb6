#include "models/known/known.h"
#include "models/names/tiny_vae.h"

namespace gesso {
namespace {

constexpr std::string_view kFromLatent = "decoder.conv_in.weight";
constexpr std::string_view kToLatent = "encoder.conv_out.weight";

// TAESD and TAESDXL share names and shapes, as TAESD3 and TAEF1 do: values differ.
Kind with_channels(int64_t channels, std::string_view name) {
  return {.role = Role::kTinyVae,
          .network = &tiny_vae_network(),
          .any = {{kFromLatent, {kAny, channels, 3, 3}}, {kToLatent, {channels, kAny, 3, 3}}},
          .variants = {{name, {{kFromLatent}, {kToLatent}}},
                       {"decoder only", {{kFromLatent}}},
                       {"encoder only", {{kToLatent}}}},
          .supported = true};
}

/// One with another architecture under the same numbers, recognised only.
Kind another(std::vector<Probe> has) {
  return {.role = Role::kTinyVae,
          .scheme = "TAESD",
          .has = std::move(has),
          .owns = {"#"},
          .variants = {{"encoder", {{"0.weight", {kAny, 3, 3, 3}}}}, {"decoder"}}};
}

}  // namespace

const Family& taesd_family() {
  static const Family family{
      .id = "taesd",
      .title = "TAESD",
      .kinds = {another({{"#.pool.0.weight"}, {"#.conv.0.weight", {64, 64, 3, 3}}}),              // TAEF2
                another({{"0.weight", {kAny, 3, 3, 3}}, {"2.bias"}, {"4.conv.0.weight"}}),        // Sana, encoder
                another({{"1.weight", {256, 32, 3, 3}}, {"3.conv.0.weight", {256, 256, 3, 3}}}),  // Sana, decoder
                with_channels(4, "4 latent channels"), with_channels(16, "16 latent channels")},
  };
  return family;
}

}  // namespace gesso
