#include "sampling/denoiser.h"

#include <memory>

#include "base/error.h"

namespace gesso {

Denoise make_denoiser(Network network, const Prediction& prediction, SigmaTable table, const Guidance& guidance,
                      const GuidanceOptions& options) {
  check_guidance(options);
  return [network = std::move(network), &prediction, table = std::move(table), &guidance, options,
          memory = std::make_shared<GuidanceMemory>()](const Latent& x, double sigma) -> Estimate {
    const Scalings scalings = prediction.scalings(sigma);
    const std::vector<Branch> branches = guidance_branches(guidance, options, sigma);
    const std::vector<Latent> outputs = network(scaled(scalings.in, x), prediction.timestep(table, sigma), branches);
    if (outputs.size() != branches.size())
      fail(ErrorCode::kInternal, "the network answered {} conditions of {}", outputs.size(), branches.size());
    const GuidanceStep step{x, sigma, scalings, branches, outputs, guidance_scale(options, sigma), *memory};
    const auto clean = [&](const Latent& output) { return weighted_sum(scalings.skip, x, scalings.out, output); };
    Latent denoised = clean(guided_output(guidance, options, step));
    if (!options.needs_uncond) return denoised;
    return {std::move(denoised), clean(*step.output(Branch::kUncond))};
  };
}

}  // namespace gesso
