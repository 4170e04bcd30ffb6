#include "models/components.h"

#include <charconv>
#include <cmath>

#include "base/error.h"

namespace gesso {

WeightStore& component(const Components& components, std::string_view role) {
  if (WeightStore* found = find_component(components, role)) return *found;
  fail(ErrorCode::kNotFound, "the model lacks its {}", role);
}

WeightStore* find_component(const Components& components, std::string_view role) {
  const auto found = components.find(role);
  return found == components.end() ? nullptr : found->second.get();
}

float metadata_float(const WeightStore& store, const std::string& key, float otherwise) {
  const auto text = store.metadata(key);
  if (!text) return otherwise;
  float value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || !std::isfinite(value) || value == 0)
    fail(ErrorCode::kBadFile, "metadata '{}' of the {}: wanted a number, found '{}'", key, store.component(), *text);
  return value;
}

KlPart::KlPart(WeightStore& store, float factor, float shift)
    : decoder(WeightScope(store), static_cast<int>(store.metadata_int("vae_norm_num_groups", 32, 1, 4096))),
      format{static_cast<int>(decoder.latent_channels()), decoder.scale(),
             metadata_float(store, "scale_factor", factor),
             store.metadata("shift_factor") ? metadata_float(store, "shift_factor", shift) : shift} {
  if (store.has("encoder.conv_in.weight"))
    encoder.emplace(WeightScope(store), static_cast<int>(store.metadata_int("vae_norm_num_groups", 32, 1, 4096)));
}

void KlPart::expect_channels(int64_t channels) const {
  if (channels != format.channels)
    fail(ErrorCode::kBadFile,
         "the diffusion model makes latents of {} channels and the VAE takes {}: they belong to different models",
         channels, format.channels);
}

Tensor KlPart::encode(const Tensor& pictures) const {
  if (!encoder)
    fail(ErrorCode::kUnsupported, "the autoencoder of this model can only decode: give a whole one with --vae FILE");
  return encoder->mean(pictures);
}

Defaults read_defaults(const WeightStore& model, Defaults d) {
  d.width = d.height = static_cast<int>(model.metadata_int("image_size", d.width, 64, 8192));
  d.steps = static_cast<int>(model.metadata_int("default_steps", d.steps, 1, 1000));
  d.cfg_scale = metadata_float(model, "default_cfg_scale", static_cast<float>(d.cfg_scale));
  d.sampler = model.metadata("default_sampler").value_or(d.sampler);
  d.scheduler = model.metadata("default_scheduler").value_or(d.scheduler);
  return d;
}

}  // namespace gesso
