#include "models/output_names.h"

#include <algorithm>

#include "base/error.h"

namespace gesso {
namespace {

bool holds(std::span<const Component* const> all, Role role) {
  return std::ranges::any_of(all, [&](const Component* c) { return c->role == role; });
}

/// Whether the text encoders lie side by side under names of their own: those of models that read T5.
bool reads_t5(std::span<const Component* const> all) {
  return std::ranges::any_of(all, [](const Component* c) {
    return c->role == Role::kT5 || std::ranges::count(c->family->needs, Role::kT5) > 0 ||
           std::ranges::count(c->family->optional, Role::kT5) > 0;
  });
}

OutputNaming ldm(const Component& component, std::span<const Component* const> all) {
  const bool t5 = reads_t5(all);
  switch (component.role) {
    case Role::kDiffusionModel:
      return {"model.diffusion_model.", component.kind->network->namings.front().scheme};
    case Role::kVae:
      return {"first_stage_model.", "LDM"};
    case Role::kClipL:
      if (t5) return {"text_encoders.clip_l.transformer.", "HF"};
      return {holds(all, Role::kClipG) ? "conditioner.embedders.0.transformer." : "cond_stage_model.transformer.",
              "HF"};
    case Role::kClipG:
      if (t5) return {"text_encoders.clip_g.transformer.", "HF"};
      return {holds(all, Role::kClipL) ? "conditioner.embedders.1.model." : "conditioner.embedders.0.model.",
              "OpenCLIP"};
    case Role::kClipH:
      return {"cond_stage_model.model.", "OpenCLIP"};
    case Role::kT5:
      return {"text_encoders.t5xxl.transformer.", "HF"};
    default:
      return {};
  }
}

OutputNaming diffusers(const Component& component, std::span<const Component* const> all) {
  switch (component.role) {
    case Role::kDiffusionModel:
      // diffusers calls what is no UNet a transformer
      return {component.kind->network->name == "UNet" ? "unet." : "transformer.", "diffusers"};
    case Role::kVae:
      return {"vae.", "diffusers"};
    case Role::kClipL:
    case Role::kClipH:
      return {"text_encoder.", "HF"};
    case Role::kClipG:
      return {"text_encoder_2.", "HF"};
    case Role::kT5:
      return {holds(all, Role::kClipG) ? "text_encoder_3." : "text_encoder_2.", "HF"};
    default:
      return {};
  }
}

}  // namespace

OutputNaming output_naming(Layout layout, const Component& component, std::span<const Component* const> all) {
  if (!component.kind->network)
    fail(ErrorCode::kUnsupported, "names: this version knows no other names for the {} ({})", title_of(component.role),
         component.family->title);
  OutputNaming naming = layout == Layout::kLdm ? ldm(component, all) : diffusers(component, all);
  if (all.size() == 1) naming.prefix.clear();
  return naming;
}

std::vector<Renamed> output_names(const OutputNaming& naming, const Component& component,
                                  const std::set<std::string>& ours) {
  const Network& network = *component.kind->network;
  const auto known = std::ranges::find_if(
      network.namings, [&](const Naming& n) { return n.scheme == naming.scheme && n.rename != nullptr; });
  if (known == network.namings.end())
    fail(ErrorCode::kUnsupported, "names: this version cannot write the names that the {} has in that layout",
         title_of(component.role));
  std::vector<Renamed> names = known->rename(ours);
  std::set<std::string_view> left(ours.begin(), ours.end());
  for (const Renamed& renamed : names)
    for (const Placement& part : renamed.parts) left.erase(part.name);
  if (!left.empty())
    fail(ErrorCode::kUnsupported, "names: the layout has no name for '{}' of the {}", *left.begin(),
         title_of(component.role));
  for (Renamed& renamed : names) renamed.name = naming.prefix + renamed.name;
  return names;
}

std::string file_prefix(Role role) {
  if (role == Role::kDiffusionModel) return "model.diffusion_model.";
  if (role == Role::kVae) return "first_stage_model.";
  return fmt::format("text_encoders.{}.transformer.", to_string(role));
}

bool is_kernel_or_matrix(const Component& component, std::string_view name) {
  const Network* network = component.kind->network;
  return network && name.ends_with(".weight") && std::ranges::any_of(network->kernels, [&](std::string_view begin) {
           return match_prefix(begin, name).has_value();
         });
}

}  // namespace gesso
