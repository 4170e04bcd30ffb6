#include "text/emphasis.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace gesso {

void emphasise(std::span<float> states, std::span<const float> weights) {
  if (std::all_of(weights.begin(), weights.end(), [](float w) { return w == 1.f; })) return;
  const size_t width = states.size() / weights.size();
  const double before = std::accumulate(states.begin(), states.end(), 0.0);
  for (size_t t = 0; t < weights.size(); ++t)
    for (float& value : states.subspan(t * width, width)) value *= weights[t];
  const double after = std::accumulate(states.begin(), states.end(), 0.0);
  if (after == 0) return;
  for (float& value : states) value *= static_cast<float>(before / after);
}

void emphasise_from_empty(std::span<float> states, std::span<const float> empty, std::span<const float> weights) {
  const size_t width = states.size() / weights.size();
  for (size_t t = 0; t < weights.size(); ++t)
    for (size_t i = t * width; weights[t] != 1.f && i < (t + 1) * width; ++i)
      states[i] = (states[i] - empty[i]) * weights[t] + empty[i];
}

}  // namespace gesso
