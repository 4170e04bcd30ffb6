#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "sampling/latent.h"
#include "sampling/prediction.h"

namespace gesso {

/// A condition that a network is evaluated under.
enum class Branch {
  kCond,        ///< the prompt, and the picture where the model takes one
  kUncond,      ///< the negative prompt, and the picture
  kEmpty,       ///< the empty prompt: what perpendicular guidance measures both prompts against
  kNoPicture,   ///< the negative prompt without the picture
  kSkipLayers,  ///< the prompt, through a network of which some layers are left out
};

struct GuidanceOptions {
  double scale = 7;    ///< CFG scale; 1 is no guidance. Any finite number.
  double rescale = 0;  ///< 0 ... 1: how far the guided output's deviation is brought back to that of the prompt alone

  std::vector<double> schedule = {};  ///< a scale for each step, in place of `scale` as far as it goes
  double start = 0, end = 1;          ///< guided are the steps from this share of them to that one; others have scale 1
  std::vector<double> sigmas = {};    ///< of the run: what tells the step, for schedule, start, end and skip layers

  double apg_eta = 1;                       ///< apg: what is kept of the part parallel to the prompt's estimate
  double apg_momentum = 0;                  ///< apg: of the direction before; negative in the paper
  double apg_norm_threshold = 0;            ///< apg: the direction's largest size; 0: none
  double apg_norm_threshold_smoothing = 0;  ///< apg: 0 cuts off, more is softer

  double negative_scale = 1;  ///< perp_neg: how strongly to go away from the negative prompt

  double mimic_scale = 7;           ///< dynamic_thresholding: the CFG scale whose range of values is kept
  double threshold_percentile = 1;  ///< dynamic_thresholding: above 0 to 1, of the values; 1 is the largest

  double image_scale = 1;  ///< image: how closely to follow the picture; 1 is as it is given

  double skip_scale = 0;                     ///< skip layers: 0 is none
  double skip_start = 0.01, skip_end = 0.2;  ///< skip layers: share of the steps after and before which it works

  bool needs_uncond = false;  ///< the estimate under the negative prompt is asked for even where it has no effect
};

/// What a guidance remembers from one evaluation to the next.
struct GuidanceMemory {
  Latent momentum;
};

/// What a guidance may look at in one evaluation.
struct GuidanceStep {
  const Latent& x;  ///< the latent, not scaled
  double sigma;
  Scalings scalings;                 ///< of the prediction at sigma
  std::span<const Branch> branches;  ///< that were evaluated
  std::span<const Latent> outputs;   ///< of the network, in their order
  double scale;                      ///< CFG scale of this evaluation
  GuidanceMemory& memory;

  /// The network's output under a branch that was evaluated; null for one that was not.
  const Latent* output(Branch branch) const;
};

/// A way to combine a network's outputs under several conditions: one row of a table.
struct Guidance {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view description;
  /// The conditions that are evaluated at a CFG scale; only those that have an effect.
  std::vector<Branch> (*branches)(const GuidanceOptions& options, double scale);
  /// The network output to use.
  Latent (*combine)(const GuidanceOptions& options, const GuidanceStep& step);
  bool needs_picture = false;  ///< it is for models that are given a picture beside the prompt
};

/// All guidances; the first is the default. cond, uncond, ... are the network's outputs:
///   cfg  uncond + scale * (cond - uncond) (Ho and Salimans 2022), then rescaled (Lin et al. 2023, section 3.4, on the
///        network's output as in diffusers). With scale 1 only the prompt is evaluated.
///   apg  adaptive projected guidance (Sadat et al. 2024): of cond - uncond, with momentum and no longer than a
///        threshold, the part parallel to cond is weakened. On clean estimates, as in the paper.
///   perp_neg  perpendicular negative prompts (Armandpour et al. 2023, as in ComfyUI): away from the negative prompt
///        only as far as that is no step back from the prompt; both are measured from the empty one.
///   dynamic_thresholding  CFG whose values are brought back to the range that mimic_scale gives (Saharia et al. 2022,
///        section 2.3, per channel and about its mean as in the web UIs' extension).
///   image  uncond and a picture (Brooks et al. 2023):
///        nopic + image_scale * (uncond - nopic) + scale * (cond - uncond).
const std::vector<Guidance>& guidances();

/// The guidance of that name or alias. Throws kUsage listing the known ones.
const Guidance& find_guidance(std::string_view name);

/// Throws kUsage naming the option that is out of its range.
void check_guidance(const GuidanceOptions& options);

/// The step of options.sigmas that an evaluation at `sigma` belongs to, 0 ... steps - 1; 0 without sigmas.
int guidance_step(const GuidanceOptions& options, double sigma);

/// The CFG scale of an evaluation at `sigma`.
double guidance_scale(const GuidanceOptions& options, double sigma);

/// Whether any evaluation of the run takes that branch.
bool takes_branch(const Guidance& guidance, const GuidanceOptions& options, Branch branch);

/// The branches that an evaluation at `sigma` takes: those of the guidance, and those that the options add.
std::vector<Branch> guidance_branches(const Guidance& guidance, const GuidanceOptions& options, double sigma);

/// The guided output: the guidance's, and skip_scale * (cond - skip) where layers are left out (as in
/// stable-diffusion.cpp).
Latent guided_output(const Guidance& guidance, const GuidanceOptions& options, const GuidanceStep& step);

/// The scales in a text such as "7x10+1x10": 7 for ten steps, then 1 for ten. Throws kUsage saying what is wrong.
std::vector<double> parse_guidance_schedule(std::string_view text);

}  // namespace gesso
