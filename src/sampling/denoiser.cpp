#include "sampling/denoiser.h"

#include "base/error.h"

namespace gesso {

Denoise make_denoiser(Network network, const Prediction& prediction, SigmaTable table, const Guidance& guidance,
                      const GuidanceOptions& options) {
  check_guidance(options);
  return [network = std::move(network), &prediction, table = std::move(table), &guidance, options,
          branches = guidance.branches(options)](const Latent& x, double sigma) {
    const Scalings scalings = prediction.scalings(sigma);
    const std::vector<Latent> outputs = network(scaled(scalings.in, x), prediction.timestep(table, sigma), branches);
    if (outputs.size() != branches.size())
      fail(ErrorCode::kInternal, "the network answered {} conditions of {}", outputs.size(), branches.size());
    const Latent output = guidance.combine(options, {x, sigma, scalings, outputs});
    return weighted_sum(scalings.skip, x, scalings.out, output);
  };
}

}  // namespace gesso
