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

Latent weighted_sum(double a, Latent x, double b, const Latent& y) {
  if (!x.same_shape(y))
    fail(ErrorCode::kInternal, "latents of the shapes {}x{}x{} and {}x{}x{} cannot be added", x.channels, x.height,
         x.width, y.channels, y.height, y.width);
  for (size_t i = 0; i < x.size(); ++i) x.values[i] = static_cast<float>(a * x.values[i] + b * y.values[i]);
  return x;
}

bool all_finite(const Latent& x) {
  return std::all_of(x.values.begin(), x.values.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace gesso
