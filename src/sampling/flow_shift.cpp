#include "sampling/flow_shift.h"

#include <algorithm>
#include <cmath>

namespace gesso {

double shifted(double shift, double time) {
  return shift * time / (1 - time + shift * time);  // as above, but sure to be 1 at 1
}

double unshifted(double shift, double sigma) {
  return sigma / (shift - (shift - 1) * sigma);
}

double shift_of_mu(double mu) {
  constexpr double kMost = 50;  // beyond, every sigma is 0 or 1 anyway, and the exponential soon 0 or infinite
  return std::exp(std::clamp(mu, -kMost, kMost));
}

double mu_for_tokens(int tokens, double base_shift, double max_shift) {
  constexpr double kBaseTokens = 256, kMaxTokens = 4096;
  return base_shift + (max_shift - base_shift) * (tokens - kBaseTokens) / (kMaxTokens - kBaseTokens);
}

double mu_for_tokens_and_steps(int tokens, int steps) {
  const double at_10 = 8.73809524e-05 * tokens + 1.89833333;
  const double at_200 = 0.00016927 * tokens + 0.45666666;
  if (tokens > 4300) return at_200;
  return at_200 + (at_200 - at_10) / 190 * (steps - 200);
}

}  // namespace gesso
