#include <algorithm>
#include <array>
#include <cmath>

#include "sampling/sampler_steps.h"

namespace gesso {
namespace {

constexpr int kHighestOrder = 4;

/// A run of steps x += sum of weights[k] * slope k steps back, with weights(i, order); a step to 0 goes to the
/// estimate.
template <typename Weights>
Latent multistep(const Denoise& denoise, Latent x, const SamplerContext& context, int order, const Weights& weights) {
  History slopes(order);
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1];
    const Latent denoised = denoise(x, sigma).denoised;
    slopes.push(slope(x, denoised, sigma));
    x = next > 0 ? slopes.added_to(x, weights(i, slopes.size())) : denoised;
    context.report(i, x, denoised);
  }
  return x;
}

/// Integrates from `from` to `to` by Gauss and Legendre's rule of eight points.
template <typename Function>
double integral(double from, double to, const Function& f) {
  constexpr std::array<double, 4> kAt = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267,
                                         0.9602898564975363};
  constexpr std::array<double, 4> kWeight = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745,
                                             0.1012285362903763};
  const double middle = (from + to) / 2, half = (to - from) / 2;
  double sum = 0;
  for (size_t k = 0; k < kAt.size(); ++k) sum += kWeight[k] * (f(middle - half * kAt[k]) + f(middle + half * kAt[k]));
  return half * sum;
}

/// Lagrange's polynomial that is 1 at nodes[j] and 0 at the others.
double lagrange(std::span<const double> nodes, size_t j, double at) {
  double product = 1;
  for (size_t k = 0; k < nodes.size(); ++k)
    if (k != j) product *= (at - nodes[k]) / (nodes[j] - nodes[k]);
  return product;
}

/// The weights of Adams and Bashforth for equal steps, newest first.
std::vector<double> adams_bashforth(int order) {
  switch (order) {
    case 1:
      return {1};
    case 2:
      return {3. / 2, -1. / 2};
    case 3:
      return {23. / 12, -16. / 12, 5. / 12};
    default:
      return {55. / 24, -59. / 24, 37. / 24, -9. / 24};
  }
}

std::vector<double> times(double factor, std::vector<double> weights) {
  for (double& weight : weights) weight *= factor;
  return weights;
}

}  // namespace

/// Linear multistep with the exact integrals of the polynomial through the slopes in sigma (k-diffusion), order 4. As
/// there, a step to 0 is none other.
Latent sample_lms(const Denoise& denoise, Latent x, const SamplerContext& context) {
  const int order = context.options.order_or(kHighestOrder);
  History slopes(order);
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1];
    const Latent denoised = denoise(x, sigma).denoised;
    slopes.push(slope(x, denoised, sigma));
    std::vector<double> nodes, weights;
    for (int k = 0; k < slopes.size(); ++k) nodes.push_back(context.sigmas[i - k]);
    for (size_t j = 0; j < nodes.size(); ++j)
      weights.push_back(integral(sigma, next, [&](double at) { return lagrange(nodes, j, at); }));
    x = slopes.added_to(x, weights);
    context.report(i, x, denoised);
  }
  return x;
}

/// Zhang and Chen 2022, improved pseudo numerical method: Adams and Bashforth's weights as if steps were equal,
/// order 4.
Latent sample_ipndm(const Denoise& denoise, Latent x, const SamplerContext& context) {
  return multistep(denoise, std::move(x), context, context.options.order_or(kHighestOrder), [&](int i, int order) {
    return times(context.sigmas[i + 1] - context.sigmas[i], adams_bashforth(order));
  });
}

/// The same with weights for unequal steps, order 4, as diff-sampler and ComfyUI have them: from order 3 on these are
/// not quite those of Adams and Bashforth.
Latent sample_ipndm_v(const Denoise& denoise, Latent x, const SamplerContext& context) {
  const auto weights = [&](int i, int order) {
    const auto step = [&](int back) { return context.sigmas[i + 1 - back] - context.sigmas[i - back]; };
    const double h = step(0);
    if (order == 1) return std::vector<double>{h};
    const double h1 = step(1);
    std::vector<double> w = {1 + h / h1 / 2, -h / h1 / 2};
    if (order == 2) return times(h, w);
    const double h2 = step(2), r = h1 / h2;
    const double bend = (1 - h / (3 * (h + h1)) * (h * (h + h1)) / (h1 * (h1 + h2))) / 2;
    w[0] += bend, w[1] -= (1 + r) * bend;
    w.push_back(r * bend);
    if (order == 3) return times(h, w);
    const double h3 = step(3), s = r * (h1 + h2) / (h2 + h3);
    const double turn = ((1 - h / (3 * (h + h1))) / 2 + (1 - h / (2 * (h + h1))) * h / (6 * (h + h1 + h2))) *
                        (h * (h + h1) * (h + h1 + h2)) / (h1 * (h1 + h2) * (h1 + h2 + h3));
    w[0] += turn, w[1] -= (1 + r + s) * turn, w[2] += (r + s * (1 + h2 / h3)) * turn;
    w.push_back(-turn * s * r);
    return times(h, w);
  };
  return multistep(denoise, std::move(x), context, context.options.order_or(kHighestOrder), weights);
}

/// Zhang and Chen 2022, DEIS with polynomials in time (tAB), order 3: the time is that of a variance-preserving
/// diffusion from sigma 0.002 at 1e-3 to 80 at 1, as in diff-sampler and ComfyUI, whose sums of 10,000 rectangles are
/// exact integrals here.
Latent sample_deis(const Denoise& denoise, Latent x, const SamplerContext& context) {
  constexpr double kEpsilon = 1e-3, kMin = 0.002, kMax = 80;
  const double low = std::log(kMin * kMin + 1), high = std::log(kMax * kMax + 1);
  const double beta_d = 2 * (low / kEpsilon - high) / (kEpsilon - 1), beta_min = high - beta_d / 2;
  const auto time = [&](double sigma) {
    return (std::sqrt(beta_min * beta_min + 2 * beta_d * std::log1p(sigma * sigma)) - beta_min) / beta_d;
  };
  const auto weights = [&](int i, int order) {
    std::vector<double> nodes, w;
    for (int k = 0; k < order; ++k) nodes.push_back(time(context.sigmas[i - k]));
    for (size_t j = 0; j < nodes.size(); ++j) {
      // over ln(sigma), in which it is smooth
      w.push_back(integral(std::log(context.sigmas[i]), std::log(context.sigmas[i + 1]), [&](double log_sigma) {
        const double sigma = std::exp(log_sigma);
        return sigma * lagrange(nodes, j, time(sigma));
      }));
    }
    return w;
  };
  return multistep(denoise, std::move(x), context, context.options.order_or(3), weights);
}

/// Liu et al. 2022, PNDM without its Runge-Kutta start: Adams and Bashforth's weights, and in the first step the mean
/// of the slopes at both ends (diffusers' skip_prk_steps, CompVis's PLMS). A step to 0 goes to the estimate.
Latent sample_plms(const Denoise& denoise, Latent x, const SamplerContext& context) {
  History slopes(context.options.order_or(kHighestOrder));
  for (int i = 0; i < context.steps(); ++i) {
    const double sigma = context.sigmas[i], next = context.sigmas[i + 1], h = next - sigma;
    const Latent denoised = denoise(x, sigma).denoised;
    slopes.push(slope(x, denoised, sigma));
    if (next == 0) {
      x = denoised;
    } else if (i == 0) {
      const Latent there = euler_step(x, denoised, sigma, next);
      const Latent slope_there = slope(there, denoise(there, next).denoised, next);
      x = sum_of({{1, x}, {h / 2, slopes[0]}, {h / 2, slope_there}});
    } else {
      x = slopes.added_to(x, times(h, adams_bashforth(slopes.size())));
    }
    context.report(i, x, denoised);
  }
  return x;
}

}  // namespace gesso
