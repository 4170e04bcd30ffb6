#pragma once
#include <deque>

#include "sampling/samplers.h"

namespace gesso {

// The functions of the table of samplers. Sigmas are distinct and only the last may be 0.

Latent sample_euler(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_euler_ancestral(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_euler_cfg_pp(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_gradient_estimation(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_heun(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_dpm_2(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_dpm_2_ancestral(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_dpmpp_2s_ancestral(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_dpmpp_sde(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_dpmpp_2m(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_dpmpp_2m_v2(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_dpmpp_2m_sde(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_dpmpp_3m_sde(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_dpm_fast(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_dpm_adaptive(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_lms(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_ipndm(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_ipndm_v(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_deis(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_plms(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_lcm(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_tcd(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_uni_pc_bh1(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_uni_pc_bh2(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_res_multistep(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_res_2s(const Denoise& denoise, Latent x, const SamplerContext& context);
Latent sample_er_sde(const Denoise& denoise, Latent x, const SamplerContext& context);

// What they are made of.

/// One Euler step of dx / dsigma = (x - denoised) / sigma from sigma to `next`.
Latent euler_step(const Latent& x, const Latent& denoised, double sigma, double next);

/// dx / dsigma.
Latent slope(const Latent& x, const Latent& denoised, double sigma);

/// A step to sigma `next` as a step to a lower sigma, and noise that brings it back up: at `down` the latent is
/// multiplied by `keep` and `up` of unit noise is added. In the flow form the step is that of ComfyUI, eta above 1
/// counting as 1.
struct AncestralStep {
  double down, keep, up;
};
AncestralStep ancestral_step(const SamplerContext& context, double sigma, double next);

/// The latent at `step.down` with its noise, which is drawn for the step from `sigma` to `next`.
Latent renoised(const SamplerContext& context, const AncestralStep& step, Latent x, double sigma, double next);

/// How much of the picture a latent holds: 1, or 1 - sigma in a flow.
double alpha_of(const SamplerContext& context, double sigma);
/// lambda = ln(alpha / sigma), half of the logarithm of the signal-to-noise ratio, and back.
double lambda_of(const SamplerContext& context, double sigma);
double sigma_of_lambda(const SamplerContext& context, double lambda);

/// The context's sigmas with a first one of a flow at 1, whose lambda is infinite, lowered to 0.9999, which is where
/// ComfyUI puts it for a shift of 1.
std::vector<double> sigmas_with_finite_lambda(const SamplerContext& context);

/// The last few values of a multistep sampler, newest first.
class History {
 public:
  explicit History(int capacity) : capacity_(static_cast<size_t>(capacity)) {}
  void push(Latent value) {
    values_.push_front(std::move(value));
    if (values_.size() > capacity_) values_.pop_back();
  }
  int size() const { return static_cast<int>(values_.size()); }
  const Latent& operator[](int back) const { return values_[static_cast<size_t>(back)]; }
  /// x plus the sum of weights[k] times the k-th newest value.
  Latent added_to(const Latent& x, std::span<const double> weights) const;

 private:
  size_t capacity_;
  std::deque<Latent> values_;
};

}  // namespace gesso
