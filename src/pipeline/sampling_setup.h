#pragma once
#include "device/device.h"
#include "models/latent_diffusion.h"
#include "pipeline/request.h"
#include "sampling/guidance.h"
#include "sampling/prediction.h"
#include "sampling/samplers.h"

namespace gesso {

/// How a resolved request goes from noise to a latent.
struct SamplingSetup {
  SigmaTable table;
  const Prediction& prediction;
  const Sampler& sampler;
  std::vector<double> sigmas;
  const Guidance& guidance;
  GuidanceOptions guidance_options;
  SamplerOptions sampler_options;

  /// Whether the run evaluates the network under that condition.
  bool takes(Branch branch) const { return takes_branch(guidance, guidance_options, branch); }

  /// The sampler's context, of which `noise` and the seed are this picture's. It refers to this setup.
  SamplerContext context(Noise& noise, int64_t seed) const;
};

/// Which borders of the picture go on at the opposite ones.
inline Wrap wrap_of(const Request& request) {
  return {request.circular_x, request.circular_y};
}

/// Throws kUsage when an option is out of range or has no meaning for what was chosen, and kUnsupported when the model
/// cannot do it.
SamplingSetup sampling_setup(const LatentDiffusion& model, const Request& request);

}  // namespace gesso
