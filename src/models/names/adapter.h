#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "models/names/names.h"

namespace gesso {

/// What a tensor of an adapter file (LoRA and its kin) is to its module.
enum class AdapterPart {
  kDown,        ///< LoRA, [rank, in, ...]
  kUp,          ///< LoRA, [out, rank, ...]
  kMid,         ///< LoRA, between the two (LoCon in Tucker form)
  kUpBias,      ///< LoRA, bias of the second matrix
  kAlpha,       ///< scale times rank
  kDoraScale,   ///< DoRA magnitudes
  kHadamard,    ///< LoHa factor
  kKronecker,   ///< LoKr factor
  kOrthogonal,  ///< OFT block
  kDiff,        ///< full difference of the weight
  kDiffBias,    ///< full difference of the bias
  kDiffOther,   ///< full difference of another parameter of the module
};

/// An adapter tensor's name taken apart.
struct AdapterName {
  std::string module;       ///< as the file writes it: "lora_unet_mid_block_attentions_0_proj_in"
  std::string_view suffix;  ///< ".lora_down.weight"
  AdapterPart part = AdapterPart::kDown;
};

/// The parts of the name, or nothing when it ends in no adapter suffix.
std::optional<AdapterName> parse_adapter_name(std::string_view name);

/// The modules that an adapter file touches, under names that all tools share: dots become underscores; the tools'
/// prefixes ("lora_unet_", "transformer.", "diffusion_model." ...) and ".processor" fall away; text encoders keep
/// "te:", "te1:", "te2:", "te3:". The shape is [out, in] of the module's weight, kAny-free: 0 where the file does not
/// tell. `scheme` and `method` say who names so and what the factors are.
struct AdapterModules {
  Names modules;
  std::string scheme;  ///< "kohya", "PEFT", "diffusers attention processors", ...
  std::string method;  ///< "LoRA", "LoCon", "DoRA", "LoHa", "LoKr", "OFT", "full difference"
  bool text_encoder = false;
  bool factors = false;  ///< there is more than a scale (".alpha"), which other networks have too
};

AdapterModules read_adapter(std::span<const Names::Entry> tensors);

}  // namespace gesso
