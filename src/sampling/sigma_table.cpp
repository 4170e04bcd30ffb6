#include "sampling/sigma_table.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "sampling/flow_shift.h"

namespace gesso {
namespace {

constexpr double kTerminalAlpha = 4.8973451890853435e-08;

}  // namespace

std::vector<float> scaled_linear_alphas_cumprod(double beta_start, double beta_end, int count) {
  const double first = std::sqrt(beta_start), last = std::sqrt(beta_end);
  std::vector<float> alphas_cumprod;
  double product = 1;
  for (int t = 0; t < count; ++t) {
    const double root = first + (last - first) * t / std::max(count - 1, 1);
    product *= 1 - root * root;
    alphas_cumprod.push_back(static_cast<float>(product));
  }
  return alphas_cumprod;
}

std::vector<float> zero_terminal_snr(std::span<const float> alphas_cumprod) {
  if (alphas_cumprod.size() < 2) return {alphas_cumprod.begin(), alphas_cumprod.end()};
  const double first = std::sqrt(alphas_cumprod.front()), last = std::sqrt(alphas_cumprod.back());
  std::vector<float> rescaled;
  for (float alpha : alphas_cumprod) {
    const double root = (std::sqrt(alpha) - last) * first / (first - last);
    rescaled.push_back(static_cast<float>(root * root));
  }
  rescaled.back() = static_cast<float>(kTerminalAlpha);
  return rescaled;
}

SigmaTable SigmaTable::from_alphas_cumprod(std::span<const float> alphas_cumprod) {
  if (alphas_cumprod.size() < 2)
    fail(ErrorCode::kBadFile, "alphas_cumprod needs a value for each timestep, at least 2; it has {}",
         alphas_cumprod.size());
  std::vector<double> sigmas;
  float before = 1;
  for (float alpha : alphas_cumprod) {
    if (!(alpha >= 0 && alpha < 1 && alpha <= before))
      fail(ErrorCode::kBadFile, "alphas_cumprod must fall from below 1 to 0; at timestep {} it goes from {} to {}",
           sigmas.size(), before, alpha);
    const double positive = std::max<double>(alpha, kTerminalAlpha);
    sigmas.push_back(std::sqrt((1 - positive) / positive));
    before = alpha;
  }
  return SigmaTable(std::move(sigmas));
}

SigmaTable SigmaTable::flow(double shift, int count) {
  if (!(shift > 0) || !std::isfinite(shift)) fail(ErrorCode::kUsage, "flow shift must be above 0; it is {}", shift);
  std::vector<double> sigmas;
  for (int t = 1; t <= std::max(count, 2); ++t)
    sigmas.push_back(shifted(shift, static_cast<double>(t) / std::max(count, 2)));
  return SigmaTable(std::move(sigmas), shift);
}

SigmaTable::SigmaTable(std::vector<double> sigmas, double shift) : shift_(shift), sigmas_(std::move(sigmas)) {
  for (double sigma : sigmas_) logs_.push_back(std::log(sigma));
}

double SigmaTable::sigma(double timestep) const {
  if (!(timestep > 0)) return sigma_min();
  if (timestep >= max_timestep()) return sigma_max();
  const auto low = static_cast<size_t>(timestep);
  const double weight = timestep - static_cast<double>(low);
  if (weight == 0) return sigmas_[low];
  if (is_flow()) return shifted(shift_, (timestep + 1) / count());
  return std::exp((1 - weight) * logs_[low] + weight * logs_[low + 1]);
}

double SigmaTable::timestep(double sigma) const {
  if (!(sigma > sigma_min())) return 0;
  if (sigma >= sigma_max()) return max_timestep();
  if (is_flow()) return unshifted(shift_, sigma) * count() - 1;
  const auto above = std::upper_bound(sigmas_.begin(), sigmas_.end(), sigma);
  const auto low = static_cast<size_t>(above - sigmas_.begin()) - 1;
  return static_cast<double>(low) + (std::log(sigma) - logs_[low]) / (logs_[low + 1] - logs_[low]);
}

}  // namespace gesso
