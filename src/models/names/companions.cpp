#include "models/names/companions.h"

namespace gesso {
namespace {

struct Row {
  std::string_view ending;
  CompanionKind kind;
};

// The first three are of ComfyUI's older scaled files, the middle ones of Transformers, DeepSeek and ComfyUI's newer
// files. DeepSeek's "inverse" is that of quantising: it multiplies like the others.
constexpr Row kRows[] = {
    {".scale_weight", CompanionKind::kScale},     {".scale_input", CompanionKind::kInputScale},
    {".weight_scale", CompanionKind::kScale},     {".weight_scale_inv", CompanionKind::kScale},
    {".input_scale", CompanionKind::kInputScale}, {".weight_scale_2", CompanionKind::kSecondScale},
    {".comfy_quant", CompanionKind::kFormat},
};

}  // namespace

std::optional<CompanionName> parse_companion_name(std::string_view name) {
  for (const Row& row : kRows)
    if (name.ends_with(row.ending))
      return CompanionName{std::string(name.substr(0, name.size() - row.ending.size())) + ".weight", row.kind};
  return std::nullopt;
}

}  // namespace gesso
