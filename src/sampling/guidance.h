#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "sampling/latent.h"
#include "sampling/prediction.h"

namespace gesso {

/// A condition that a network is evaluated under.
enum class Branch {
  kCond,    ///< the prompt
  kUncond,  ///< the negative or empty prompt
};

struct GuidanceOptions {
  double scale = 7;    ///< CFG scale; 1 is no guidance. Any finite number.
  double rescale = 0;  ///< 0 ... 1: how far the guided output's deviation is brought back to that of the prompt alone
};

/// What a guidance may look at in one evaluation.
struct GuidanceStep {
  const Latent& x;  ///< the latent, not scaled
  double sigma;
  Scalings scalings;                ///< of the prediction at sigma
  std::span<const Latent> outputs;  ///< of the network, in the order of branches()
};

/// A way to combine a network's outputs under several conditions: one row of a table.
struct Guidance {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view description;
  /// The conditions that are evaluated.
  std::vector<Branch> (*branches)(const GuidanceOptions& options);
  /// The network output to use.
  Latent (*combine)(const GuidanceOptions& options, const GuidanceStep& step);
};

/// All guidances; the first is the default:
///   cfg  uncond + scale * (cond - uncond) (Ho and Salimans 2022), then rescaled (Lin et al. 2023, section 3.4, on the
///        network's output as in diffusers). With scale 1 only the prompt is evaluated.
const std::vector<Guidance>& guidances();

/// The guidance of that name or alias. Throws kUsage listing the known ones.
const Guidance& find_guidance(std::string_view name);

/// Throws kUsage naming the option that is out of its range.
void check_guidance(const GuidanceOptions& options);

}  // namespace gesso
