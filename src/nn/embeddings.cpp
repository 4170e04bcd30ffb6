#include "nn/embeddings.h"

#include <cmath>

#include "ops/ops.h"

namespace gesso::nn {

std::vector<float> sinusoidal_embedding(std::span<const float> values, int64_t width) {
  const int64_t half = width / 2;
  std::vector<float> result(values.size() * static_cast<size_t>(width), 0.f);
  for (size_t n = 0; n < values.size(); ++n)
    for (int64_t i = 0; i < half; ++i) {
      // f32 throughout, as the reference computes it: late timesteps lose the same digits.
      const float frequency = std::exp(-std::log(10000.f) * static_cast<float>(i) / static_cast<float>(half));
      float* row = &result[n * static_cast<size_t>(width)];
      row[i] = std::cos(values[n] * frequency);
      row[half + i] = std::sin(values[n] * frequency);
    }
  return result;
}

Tensor sinusoids(Device& device, std::span<const float> values, int64_t width, DType dtype) {
  const Shape shape{static_cast<int64_t>(values.size()), width};
  return cast(from_values(device, sinusoidal_embedding(values, width), shape), dtype);
}

Tensor rope_table(Device& device, std::span<const RopePosition> positions, const std::array<int, 3>& widths,
                  double theta) {
  const int width = widths[0] + widths[1] + widths[2];
  std::vector<float> table;
  table.reserve(positions.size() * static_cast<size_t>(2 * width));
  std::vector<float> sines;
  for (const RopePosition& position : positions) {
    sines.clear();
    for (size_t axis = 0; axis < widths.size(); ++axis)
      for (int j = 0; j < widths[axis] / 2; ++j) {
        const double angle = static_cast<double>(position[axis]) * std::pow(theta, -2.0 * j / widths[axis]);
        const auto cosine = static_cast<float>(std::cos(angle)), sine = static_cast<float>(std::sin(angle));
        table.insert(table.end(), {cosine, cosine});
        sines.insert(sines.end(), {-sine, sine});
      }
    table.insert(table.end(), sines.begin(), sines.end());
  }
  return from_values(device, table, {static_cast<int64_t>(positions.size()), 2, width});
}

}  // namespace gesso::nn
