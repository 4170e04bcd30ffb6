#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace gesso {

/// What a tensor beside a weight of 8 bits says about it.
enum class CompanionKind {
  kScale,        ///< what the stored numbers are to be multiplied by
  kSecondScale,  ///< what those scales are to be multiplied by (4-bit floats)
  kInputScale,   ///< of the activations, for products in 8 bits; ours are finer and have no use for it
  kFormat,       ///< a JSON text that names the way the weight was rounded
};

struct CompanionName {
  std::string weight;  ///< the tensor that it belongs to
  CompanionKind kind;
};

/// Reads names such as "x.scale_weight", "x.weight_scale", "x.weight_scale_inv", "x.input_scale" and "x.comfy_quant",
/// which belong to "x.weight"; nothing for other names.
std::optional<CompanionName> parse_companion_name(std::string_view name);

}  // namespace gesso
