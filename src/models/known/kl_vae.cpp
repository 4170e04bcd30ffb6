#include "models/known/known.h"
#include "models/names/vae.h"

namespace gesso {
namespace {

constexpr std::string_view kFromLatent = "decoder.conv_in.weight";
constexpr std::string_view kToLatent = "encoder.conv_out.weight";

// Families with the same latent channels share names and shapes and differ in values and scale only.
Kind with_channels(int64_t channels, std::string_view name, bool supported) {
  return {.role = Role::kVae,
          .network = &vae_network(),
          .any = {{kFromLatent, {kAny, channels, 3, 3}}, {kToLatent, {2 * channels, kAny, 3, 3}}},
          .variants = {{name, {{kFromLatent}, {kToLatent}}},
                       {"decoder only", {{kFromLatent}}},
                       {"encoder only", {{kToLatent}}}},
          .supported = supported};
}

}  // namespace

const Family& kl_vae_family() {
  static const Family family{
      .id = "kl_vae",
      .title = "KL autoencoder",
      .kinds = {with_channels(4, "4 latent channels", true), with_channels(16, "16 latent channels", true)}};
  return family;
}

}  // namespace gesso
