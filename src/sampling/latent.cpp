#include "sampling/latent.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace gesso {

Latent zero_latent(int channels, int height, int width) {
  if (channels < 0 || height < 0 || width < 0)
    fail(ErrorCode::kInternal, "a latent cannot have the shape {}x{}x{}", channels, height, width);
  const size_t size = static_cast<size_t>(channels) * static_cast<size_t>(height) * static_cast<size_t>(width);
  return {channels, height, width, std::vector<float>(size)};
}

Latent scaled(double a, Latent x) {
  for (float& value : x.values) value = static_cast<float>(a * value);
  return x;
}

namespace {

void check_same_shape(const Latent& x, const Latent& y) {
  if (!x.same_shape(y))
    fail(ErrorCode::kInternal, "latents of the shapes {}x{}x{} and {}x{}x{} cannot be added", x.channels, x.height,
         x.width, y.channels, y.height, y.width);
}

}  // namespace

Latent weighted_sum(double a, Latent x, double b, const Latent& y) {
  check_same_shape(x, y);
  for (size_t i = 0; i < x.size(); ++i) x.values[i] = static_cast<float>(a * x.values[i] + b * y.values[i]);
  return x;
}

Latent sum_of(std::initializer_list<Term> terms) {
  if (terms.size() == 0) fail(ErrorCode::kInternal, "a sum of latents needs a term");
  const Latent& first = terms.begin()->latent;
  for (const Term& term : terms) check_same_shape(first, term.latent);
  Latent result = first;
  for (size_t i = 0; i < result.size(); ++i) {
    double sum = 0;
    for (const Term& term : terms) sum += term.factor * term.latent.values[i];
    result.values[i] = static_cast<float>(sum);
  }
  return result;
}

bool all_finite(const Latent& x) {
  return std::all_of(x.values.begin(), x.values.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace gesso
