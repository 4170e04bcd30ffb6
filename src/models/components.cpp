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

KlPart::KlPart(WeightStore* store, const LatentFormat& family) : format(family) {
  if (!store) return;
  const WeightScope scope(*store);
  const int groups = static_cast<int>(store->metadata_int("vae_norm_num_groups", 32, 1, 4096));
  decoder.emplace(scope, groups);
  if (store->has("encoder.conv_in.weight")) encoder.emplace(scope, groups);
  format.scale = decoder->scale();
  format.factor = metadata_float(*store, "scale_factor", family.factor);
  if (store->metadata("shift_factor")) format.shift = metadata_float(*store, "shift_factor", family.shift);
  if (format.factor != family.factor || format.shift != family.shift)
    format.projection = nullptr;  // its latents are not those of the family
  if (decoder->latent_channels() != family.channels)
    fail(ErrorCode::kBadFile,
         "the diffusion model makes latents of {} channels and the VAE takes {}: they belong to different models",
         family.channels, decoder->latent_channels());
}

Tensor KlPart::decode(const Tensor& latents) const {
  if (!decoder)
    fail(ErrorCode::kNotFound,
         "the model has no autoencoder: give one with --vae FILE, or a tiny one with --taesd FILE");
  return (*decoder)(latents);
}

Tensor KlPart::encode(const Tensor& pictures) const {
  if (!decoder)
    fail(ErrorCode::kNotFound,
         "the model has no autoencoder that encodes: give one with --vae FILE, or a tiny one with both halves with "
         "--taesd FILE");
  if (!encoder)
    fail(ErrorCode::kUnsupported, "the autoencoder of this model can only decode: give a whole one with --vae FILE");
  return encoder->mean(pictures);
}

TinyPart::TinyPart(std::unique_ptr<WeightStore> weights, const LatentFormat& format) : store(std::move(weights)) {
  const WeightScope scope(*store);
  if (!store->has("decoder.conv_in.weight"))
    fail(ErrorCode::kUnsupported,
         "the tiny autoencoder holds the encoder alone, and pictures take a decoder: give a file with both, or with "
         "the decoder (taesd_decoder), to --taesd");
  decoder.emplace(scope);
  if (store->has("encoder.conv_in.weight")) encoder.emplace(scope);
  if (decoder->latent_channels() != format.channels || decoder->scale() != format.scale)
    fail(ErrorCode::kBadFile,
         "the model makes latents of {} channels for {} pixels each way, and the tiny autoencoder takes {} for {}: "
         "give the one made for this kind of model to --taesd",
         format.channels, format.scale, decoder->latent_channels(), decoder->scale());
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
