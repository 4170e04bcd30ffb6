#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "sampling/sampler_steps.h"

namespace gesso {
namespace {

/// One step of DPM-Solver (Lu et al. 2022, "DPM-Solver") from x at t to t_next, t = -ln(sigma), by one, two or three
/// evaluations. What was evaluated is kept for steps of another order from the same x.
class DpmSolverStep {
 public:
  DpmSolverStep(const Denoise& denoise, const Latent& x, double t, double t_next)
      : denoise_(denoise), x_(x), t_(t), h_(t_next - t), denoised_(denoise(x, std::exp(-t)).denoised) {
    noise_ = slope(x, denoised_, std::exp(-t));
  }

  const Latent& denoised() const { return denoised_; }

  Latent first_order() const { return moved(1); }

  Latent second_order(double r1) {
    evaluate_at(r1, near_, moved(r1));
    const double factor = -sigma(1) * std::expm1(h_);
    return sum_of({{1, x_}, {factor * (1 - 1 / (2 * r1)), noise_}, {factor / (2 * r1), *near_}});
  }

  /// With r1 = 1/3 and r2 = 2/3.
  Latent third_order() {
    constexpr double kR1 = 1. / 3, kR2 = 2. / 3;
    evaluate_at(kR1, near_, moved(kR1));
    const double step = sigma(kR2) * std::expm1(kR2 * h_);
    const double turn = sigma(kR2) * (kR2 / kR1) * (std::expm1(kR2 * h_) / (kR2 * h_) - 1);
    evaluate_at(kR2, far_, sum_of({{1, x_}, {turn - step, noise_}, {-turn, *near_}}));
    const double last = sigma(1) * std::expm1(h_), bend = sigma(1) / kR2 * (std::expm1(h_) / h_ - 1);
    return sum_of({{1, x_}, {bend - last, noise_}, {-bend, *far_}});
  }

 private:
  double sigma(double r) const { return std::exp(-(t_ + r * h_)); }
  Latent moved(double r) const { return weighted_sum(1, x_, -sigma(r) * std::expm1(r * h_), noise_); }
  void evaluate_at(double r, std::optional<Latent>& kept, const Latent& there) {
    if (!kept) kept = slope(there, denoise_(there, sigma(r)).denoised, sigma(r));
  }

  const Denoise& denoise_;
  const Latent& x_;
  double t_, h_;
  Latent denoised_, noise_;
  std::optional<Latent> near_, far_;
};

/// An ancestral step in t: where the solver goes, and the noise that brings it back up to t_next.
struct NoisyStep {
  double down, up;
};
NoisyStep noisy_step(const SamplerContext& context, double t, double t_next, double t_end) {
  SamplerContext plain = context;
  plain.flow = false;
  const double next = std::exp(-t_next);
  const AncestralStep step = ancestral_step(plain, std::exp(-t), next);
  if (step.up == 0) return {t_next, 0};
  const double down = std::min(t_end, step.down > 0 ? -std::log(step.down) : t_end);
  return {down, std::sqrt(std::max(next * next - std::exp(-2 * down), 0.0))};
}

/// The sigma before 0, at which these solvers end; then a step to 0 of one evaluation if there is one.
struct Range {
  double t_start, t_end;
  bool to_zero;
};
Range range_of(const SamplerContext& context) {
  const bool to_zero = context.sigmas.back() == 0;
  const double last = to_zero ? context.sigmas[context.sigmas.size() - 2] : context.sigmas.back();
  return {-std::log(context.sigmas.front()), -std::log(last), to_zero};
}

}  // namespace

/// DPM-Solver-fast (Lu et al. 2022, section 3.4; k-diffusion): one evaluation for each step of the schedule, spent on
/// solvers of order 3, the last ones lower, at equal steps of ln(sigma) over the schedule's range. Of the schedule only
/// its ends count. A step to sigma 0, where the reference stops before, takes the last evaluation.
Latent sample_dpm_fast(const Denoise& denoise, Latent x, const SamplerContext& context) {
  const Range range = range_of(context);
  const int budget = context.steps() - (range.to_zero ? 1 : 0);
  const int count = budget > 0 ? budget / 3 + 1 : 0;
  int reported = 0;
  for (int i = 0, left = budget; left > 0; ++i) {
    // 3, 3, ..., then what is left; for a multiple of 3 the last two are 2 and 1
    const int order = left > 3 ? 3 : left == 3 ? 2 : left;
    const double t = range.t_start + (range.t_end - range.t_start) * i / count;
    const double t_next = range.t_start + (range.t_end - range.t_start) * (i + 1) / count;
    const NoisyStep noisy = noisy_step(context, t, t_next, range.t_end);
    DpmSolverStep step(denoise, x, t, noisy.down);
    Latent y = order == 1 ? step.first_order() : order == 2 ? step.second_order(0.5) : step.third_order();
    if (noisy.up > 0) y = renoised(context, {0, 1, noisy.up}, std::move(y), std::exp(-t), std::exp(-t_next));
    const Latent denoised = step.denoised();
    x = std::move(y);
    for (int k = 0; k < order; ++k) context.report(reported++, x, denoised);
    left -= order;
  }
  if (range.to_zero) {
    x = denoise(x, std::exp(-range.t_end)).denoised;
    context.report(reported, x, x);
  }
  return x;
}

/// DPM-Solver-23, or 12 with order 2, with adaptive steps (Lu et al. 2022, appendix C; k-diffusion, whose tolerances
/// 0.0078 and 0.05 these are). Of the schedule only its ends count. A step to sigma 0 is added, as in dpm_fast.
Latent sample_dpm_adaptive(const Denoise& denoise, Latent x, const SamplerContext& context) {
  constexpr double kAbsolute = 0.0078, kRelative = 0.05, kFirst = 0.05, kEnough = 0.81, kNone = 1e-8, kDone = 1e-5;
  constexpr int kMostTries = 10'000;
  const Range range = range_of(context);
  const int order = std::clamp(context.options.order_or(3), 2, 3);
  const double exponent = 1 / (*context.options.eta > 0 ? 1.5 : order);
  Latent before = x;
  double t = range.t_start, h = kFirst;
  int reported = 0;
  for (int tries = 0; t < range.t_end - kDone; ++tries) {
    if (tries == kMostTries)
      fail(ErrorCode::kNumeric, "dpm_adaptive found no end in {} steps, at sigma {:.4g}; use another sampler",
           kMostTries, std::exp(-t));
    const double t_next = std::min(range.t_end, t + h);
    const NoisyStep noisy = noisy_step(context, t, t_next, range.t_end);
    DpmSolverStep step(denoise, x, t, noisy.down);
    const Latent low = order == 2 ? step.first_order() : step.second_order(1. / 3);
    Latent high = order == 2 ? step.second_order(0.5) : step.third_order();
    double squares = 0;
    for (size_t k = 0; k < x.size(); ++k) {
      const double size = std::max(std::abs(low.values[k]), std::abs(before.values[k]));
      const double error = (low.values[k] - high.values[k]) / std::max(kAbsolute, kRelative * size);
      squares += error * error;
    }
    const double error = std::sqrt(squares / static_cast<double>(std::max<size_t>(x.size(), 1)));
    const double factor = 1 + std::atan(std::pow(1 / (error + kNone), exponent) - 1);
    h *= factor;
    if (!(factor >= kEnough)) continue;
    before = low;
    x = std::move(high);
    if (noisy.up > 0) x = renoised(context, {0, 1, noisy.up}, std::move(x), std::exp(-t), std::exp(-t_next));
    t = t_next;
    const Latent denoised = step.denoised();
    while (reported + (range.to_zero ? 1 : 0) < context.steps() &&
           std::exp(-t) <= context.sigmas[reported + 1] * (1 + 2e-5))
      context.report(reported++, x, denoised);
  }
  if (range.to_zero) {
    x = denoise(x, std::exp(-range.t_end)).denoised;
    context.report(reported, x, x);
  }
  return x;
}

}  // namespace gesso
