#include "sampling/churn.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gesso {

double churn(const SamplerContext& context, Latent& x, int i) {
  const double sigma = context.sigmas[i];
  if (context.options.s_churn == 0 || sigma < context.options.s_tmin || sigma > context.options.s_tmax) return sigma;
  const double gamma = std::min(context.options.s_churn / context.steps(), std::numbers::sqrt2 - 1);
  const double raised = sigma * (1 + gamma);
  const double added = context.options.s_noise * std::sqrt(raised * raised - sigma * sigma);
  x = weighted_sum(1, x, added, context.draw(x, raised, sigma));
  return raised;
}

}  // namespace gesso
