#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "models/latent_diffusion.h"
#include "models/names/probe.h"
#include "upscale/upscale_network.h"

namespace gesso {

struct Network;

/// What a group of tensors is for.
enum class Role {
  kDiffusionModel,
  kClipL,
  kClipG,
  kClipH,
  kT5,
  kLanguageModel,  ///< a text encoder that is a language model
  kVisionEncoder,
  kVae,
  kTinyVae,
  kAudioVae,
  kVocoder,
  kLora,
  kControlNet,
  kIpAdapter,
  kIdEncoder,
  kAdapter,  ///< a small network between two others
  kMotionModule,
  kEmbedding,  ///< textual inversion
  kUpscaler,
  kLatentUpscaler,
  kDepthModel,
};

/// Stable machine-readable name: "diffusion_model", "clip_l", ...
std::string_view to_string(Role role);
/// For a person: "diffusion model", "CLIP-L text encoder", ...
std::string_view title_of(Role role);
/// The option of `gesso generate` that takes a file with this component: "--clip_l"; empty when none does.
std::string_view option_of(Role role);

/// A variant of a kind of component, told by probes; the first that fits counts.
struct Variant {
  std::string_view name;
  std::vector<Probe> has = {};
  std::vector<std::string_view> lacks = {};
  bool supported = true;  ///< by this version, if the kind is
};

/// How a component is told from its names and shapes alone. Names are without the component's prefix; those of a kind
/// with a network are ours, those of adapters (kLora) are modules: see AdapterModules.
struct Kind {
  Role role;
  std::string_view scheme = "";              ///< of the names; a network's naming says it by itself
  const Network* network = nullptr;          ///< what the model code is built for, and its names; null: recognised only
  std::vector<std::string_view> under = {};  ///< when given, only under prefixes that begin so
  std::vector<Probe> has = {};               ///< all of them
  std::vector<Probe> any = {};               ///< at least one, when given
  std::vector<std::string_view> lacks = {};  ///< none of them
  /// Without a network: what belongs to the component, as beginnings of names that end at a dot or with the name,
  /// or anywhere when they end in `*`.
  std::vector<std::string_view> owns = {};
  std::vector<Variant> variants = {};
  bool supported = false;  ///< this version can run it
  /// Of an upscaler: builds the network from the component's weights.
  std::unique_ptr<UpscaleNetwork> (*make_upscaler)(const WeightScope& w) = nullptr;
};

/// A model family, or a component that several families share.
struct Family {
  std::string_view id;     ///< "sd1"
  std::string_view title;  ///< "Stable Diffusion 1.x"
  /// Besides the diffusion model, what painting takes.
  std::vector<Role> needs = {};
  /// What it uses when it is given.
  std::vector<Role> optional = {};
  /// In order: the first kind that fits counts.
  std::vector<Kind> kinds = {};
  /// Builds the model from the diffusion model and what it needs, each under to_string(role); null: not built yet.
  std::unique_ptr<LatentDiffusion> (*make)(Components components) = nullptr;
  /// How metadata of adapters call the family (beginnings, lower case): "sd_v1", "stable-diffusion-v1".
  std::vector<std::string_view> metadata_names = {};
};

}  // namespace gesso
