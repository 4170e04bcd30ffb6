#include "sampling/prediction.h"

#include <cmath>

#include "sampling/names.h"

namespace gesso {
namespace {

Scalings eps_scalings(double sigma) {
  return {1, -sigma, 1 / std::hypot(sigma, 1)};
}

Scalings v_scalings(double sigma) {
  const double norm = std::hypot(sigma, 1);
  return {1 / (norm * norm), -sigma / norm, 1 / norm};
}

Scalings flow_scalings(double sigma) {
  return {1, -sigma, 1};
}

double flow_timestep(const SigmaTable&, double sigma) {
  return 1000 * sigma;
}

NoiseMix noise_instead(double sigma) {
  return {1 - sigma, sigma};
}

double table_timestep(const SigmaTable& table, double sigma) {
  return table.timestep(sigma);
}

NoiseMix noise_on_top(double sigma) {
  return {1, sigma};
}

}  // namespace

const std::vector<Prediction>& predictions() {
  static const std::vector<Prediction> rows = {
      {"eps", {"epsilon", "noise"}, "the noise in the latent", eps_scalings, table_timestep, noise_on_top},
      {"v",
       {"v_pred", "v_prediction", "velocity"},
       "the velocity between picture and noise",
       v_scalings,
       table_timestep,
       noise_on_top},
      {"flow",
       {"flow_prediction", "rectified_flow"},
       "the velocity of a straight line from picture to noise",
       flow_scalings,
       flow_timestep,
       noise_instead},
  };
  return rows;
}

const Prediction& find_prediction(std::string_view name) {
  return find_row(predictions(), "prediction", name);
}

Latent noised(const Prediction& prediction, const Latent& image, const Latent& noise, double sigma) {
  const NoiseMix mix = prediction.noise_mix(sigma);
  return weighted_sum(mix.image, image, mix.noise, noise);
}

}  // namespace gesso
