#include "models/names/adapter.h"

#include <algorithm>
#include <set>

namespace gesso {
namespace {

struct Suffix {
  std::string_view text;
  AdapterPart part;
};

// Longer suffixes before those they end in.
constexpr Suffix kSuffixes[] = {
    {".lora_linear_layer.down.weight", AdapterPart::kDown},
    {".lora_linear_layer.up.weight", AdapterPart::kUp},
    {".lora_A.default.weight", AdapterPart::kDown},
    {".lora_B.default.weight", AdapterPart::kUp},
    {".lora_down.weight", AdapterPart::kDown},
    {".lora_up.weight", AdapterPart::kUp},
    {".lora_mid.weight", AdapterPart::kMid},
    {".lora.down.weight", AdapterPart::kDown},
    {".lora.up.weight", AdapterPart::kUp},
    {"_lora.down.weight", AdapterPart::kDown},
    {"_lora.up.weight", AdapterPart::kUp},
    {"_lora1.down.weight", AdapterPart::kDown},
    {"_lora1.up.weight", AdapterPart::kUp},
    {"_lora2.down.weight", AdapterPart::kDown},
    {"_lora2.up.weight", AdapterPart::kUp},
    {".lora_A.weight", AdapterPart::kDown},
    {".lora_B.weight", AdapterPart::kUp},
    {".lora_B.bias", AdapterPart::kUpBias},
    {".lora_magnitude_vector", AdapterPart::kDoraScale},
    {".dora_scale", AdapterPart::kDoraScale},
    {".lora_A", AdapterPart::kDown},
    {".lora_B", AdapterPart::kUp},
    {".lora_down", AdapterPart::kDown},
    {".lora_up", AdapterPart::kUp},
    {".hada_w1_a", AdapterPart::kHadamard},
    {".hada_w1_b", AdapterPart::kHadamard},
    {".hada_w2_a", AdapterPart::kHadamard},
    {".hada_w2_b", AdapterPart::kHadamard},
    {".hada_t1", AdapterPart::kHadamard},
    {".hada_t2", AdapterPart::kHadamard},
    {".lokr_w1", AdapterPart::kKronecker},
    {".lokr_w1_a", AdapterPart::kKronecker},
    {".lokr_w1_b", AdapterPart::kKronecker},
    {".lokr_w2", AdapterPart::kKronecker},
    {".lokr_w2_a", AdapterPart::kKronecker},
    {".lokr_w2_b", AdapterPart::kKronecker},
    {".lokr_t1", AdapterPart::kKronecker},
    {".lokr_t2", AdapterPart::kKronecker},
    {".oft_blocks", AdapterPart::kOrthogonal},
    {".oft_diag", AdapterPart::kOrthogonal},
    {".diff", AdapterPart::kDiff},
    {".diff_b", AdapterPart::kDiffBias},
    {".diff_m", AdapterPart::kDiffOther},
    {".alpha", AdapterPart::kAlpha},
    {":down", AdapterPart::kDown},
    {":up", AdapterPart::kUp},
};

struct Prefix {
  std::string_view text;
  std::string_view target;  ///< what the short name begins with
  std::string_view scheme;
};

// The tools' prefixes; the first that fits is taken off.
constexpr Prefix kPrefixes[] = {
    {"lora_unet_", "", "kohya"},        {"lora_te1_", "te1:", "kohya"},
    {"lora_te2_", "te2:", "kohya"},     {"lora_te3_", "te3:", "kohya"},
    {"lora_te_", "te:", "kohya"},       {"lora_transformer_", "", "flattened diffusers"},
    {"lycoris_", "", "LyCORIS"},        {"base_model.model.", "", ""},
    {"model.diffusion_model.", "", ""}, {"diffusion_model.", "", ""},
    {"transformer.", "", ""},           {"unet.", "", ""},
    {"unet:", "unet:", "cloneofsimo"},  {"text_encoder:", "te:", "cloneofsimo"},
    {"text_encoder_2.", "te2:", ""},    {"text_encoder_3.", "te3:", ""},
    {"text_encoder.", "te:", ""},
};

struct Short {
  std::string name;
  std::string_view scheme;
};

Short short_name(std::string_view module) {
  Short result;
  for (const Prefix& prefix : kPrefixes) {
    if (!module.starts_with(prefix.text)) continue;
    module.remove_prefix(prefix.text.size());
    result = {std::string(prefix.target), prefix.scheme};
    break;
  }
  std::string rest(module);
  for (size_t at = rest.find(".processor"); at != std::string::npos; at = rest.find(".processor")) rest.erase(at, 10);
  std::replace(rest.begin(), rest.end(), '.', '_');
  result.name += rest;
  return result;
}

std::string_view scheme_of(const AdapterName& name) {
  if (name.suffix.starts_with("_lora1") || name.suffix.starts_with("_lora2")) return "XLabs";
  if (name.suffix.starts_with("_lora")) return "diffusers attention processors";
  if (name.suffix.find("lora_A") != std::string_view::npos || name.suffix.find("lora_B") != std::string_view::npos)
    return "PEFT";
  return "plain module names";
}

/// [out, in] as far as these tensors tell.
struct Width {
  int64_t out = 0, in = 0;
};

void learn(Width& width, AdapterPart part, const Shape& shape) {
  if (part == AdapterPart::kDown && shape.rank() >= 2) width.in = shape[1];
  if (part == AdapterPart::kUp && shape.rank() >= 2) width.out = shape[0];
}

std::string method_of(const std::set<AdapterPart>& parts) {
  if (parts.contains(AdapterPart::kDoraScale)) return "DoRA";
  if (parts.contains(AdapterPart::kKronecker)) return "LoKr";
  if (parts.contains(AdapterPart::kHadamard)) return "LoHa";
  if (parts.contains(AdapterPart::kOrthogonal)) return "OFT";
  return parts.contains(AdapterPart::kDown) || parts.contains(AdapterPart::kUp) ? "LoRA" : "full difference";
}

}  // namespace

std::optional<AdapterName> parse_adapter_name(std::string_view name) {
  for (const Suffix& suffix : kSuffixes) {
    if (!name.ends_with(suffix.text) || name.size() == suffix.text.size()) continue;
    return AdapterName{std::string(name.substr(0, name.size() - suffix.text.size())), suffix.text, suffix.part};
  }
  return std::nullopt;
}

AdapterModules read_adapter(std::span<const Names::Entry> tensors) {
  std::map<std::string, std::pair<Width, size_t>> widths;
  std::map<std::string_view, size_t> schemes;  // by how many tensors follow it
  std::set<AdapterPart> parts;
  for (const Names::Entry& tensor : tensors) {
    const auto name = parse_adapter_name(tensor.name);
    if (!name) continue;
    const Short module = short_name(name->module);
    auto& [width, index] = widths.try_emplace(module.name, Width{}, tensor.tensor).first->second;
    learn(width, name->part, tensor.shape);
    parts.insert(name->part);
    if (name->part != AdapterPart::kAlpha) ++schemes[module.scheme.empty() ? scheme_of(*name) : module.scheme];
  }
  std::vector<Names::Entry> modules;
  bool text_encoder = false;
  for (const auto& [name, entry] : widths) {
    modules.push_back({name, Shape{entry.first.out, entry.first.in}, entry.second});
    text_encoder |= name.starts_with("te") && name.find(':') != std::string::npos;
  }
  const auto most = std::max_element(schemes.begin(), schemes.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  parts.erase(AdapterPart::kAlpha);
  return {Names(std::move(modules)), most == schemes.end() ? "" : std::string(most->first), method_of(parts),
          text_encoder, !parts.empty()};
}

}  // namespace gesso
