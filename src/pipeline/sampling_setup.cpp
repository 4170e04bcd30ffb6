#include "pipeline/sampling_setup.h"

#include <algorithm>

#include "base/error.h"
#include "sampling/extra_args.h"
#include "sampling/flow_shift.h"

namespace gesso {
namespace {

/// The sigmas that models of a prediction are trained on; those of a flow may hang on the picture's size, in tokens.
SigmaTable sigma_table(const Denoising& denoising, const Request& request, int tokens) {
  const std::string_view prediction = request.prediction;
  if (prediction == "edm") return SigmaTable::log_uniform(0.002, 80);
  if (prediction == "edm_v") return SigmaTable::log_uniform(0.002, 120);
  if (prediction == "flow")
    return SigmaTable::flow(denoising.shift_by_tokens ? shift_of_mu(request.flow_shift.value_or(mu_for_tokens(tokens)))
                                                      : request.flow_shift.value_or(denoising.flow_shift));
  std::vector<float> alphas = scaled_linear_alphas_cumprod();
  if (denoising.zero_terminal_snr) alphas = zero_terminal_snr(alphas);
  return SigmaTable::from_alphas_cumprod(alphas);
}

}  // namespace

SamplingSetup sampling_setup(const LatentDiffusion& model, const Request& request) {
  constexpr int kTokenSide = 16;  // pixels; what the schedules that count tokens mean by one
  const int tokens = std::max(1, (*request.width / kTokenSide) * (*request.height / kTokenSide));
  SamplingSetup setup{.table = sigma_table(model.denoising(), request, tokens),
                      .prediction = find_prediction(request.prediction),
                      .sampler = *find_sampler(*request.sampling_method).sampler,
                      .sigmas = {},
                      .guidance = find_guidance(request.guidance_method),
                      .guidance_options = {},
                      .sampler_options = {}};
  ScheduleOptions schedule{.tokens = tokens};
  GuidanceOptions& guidance = setup.guidance_options;
  guidance.scale = *request.cfg_scale;
  guidance.rescale = request.guidance_rescale.value_or(0);
  guidance.start = request.guidance_start.value_or(0);
  guidance.end = request.guidance_end.value_or(1);
  guidance.needs_uncond = setup.sampler.needs_uncond;
  setup.sampler_options.eta = request.eta;
  apply_extra_args(request.extra_sample_args, setup.sampler.name, *request.scheduler, setup.guidance.name,
                   {setup.sampler_options, schedule, guidance});
  setup.sigmas = request.sigmas.empty()
                     ? find_schedule(*request.scheduler).sigmas(setup.table, *request.steps, schedule)
                     : parse_sigmas(request.sigmas);
  if (!request.init_image.empty()) {
    const auto kept =
        last_steps(setup.sigmas, steps_for_strength(static_cast<int>(setup.sigmas.size()) - 1, *request.strength));
    setup.sigmas = {kept.begin(), kept.end()};
  }
  guidance.sigmas = setup.sigmas;
  check_guidance(guidance);
  if (setup.guidance.needs_picture)
    fail(ErrorCode::kUnsupported, "the guidance {} is for models that are given a picture, and this one is not",
         setup.guidance.name);
  return setup;
}

SamplerContext SamplingSetup::context(Noise& noise, int64_t seed) const {
  SamplerContext context{.sigmas = sigmas, .noise = noise, .options = sampler_options};
  context.flow = table.is_flow();
  context.table = &table;
  context.seed = static_cast<uint64_t>(seed);
  return context;
}

}  // namespace gesso
