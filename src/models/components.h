#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "models/latent_diffusion.h"
#include "vae/kl_vae.h"

namespace gesso {

/// The component of that role; kNotFound when the model lacks it.
WeightStore& component(const Components& components, std::string_view role);
/// Null when the model lacks it.
WeightStore* find_component(const Components& components, std::string_view role);

/// A number other than 0 from the metadata, or `otherwise`; kBadFile when it is there and is none.
float metadata_float(const WeightStore& store, const std::string& key, float otherwise);

/// A KL autoencoder, and how its latents relate to the network's.
struct KlPart {
  KlPart(WeightStore& store, float factor, float shift);
  /// Throws kBadFile unless the diffusion model's latents have as many channels.
  void expect_channels(int64_t channels) const;
  /// As LatentDiffusion::encode_picture.
  Tensor encode(const Tensor& pictures) const;
  KlDecoder decoder;
  std::optional<KlEncoder> encoder;  ///< where the file has one
  LatentFormat format;
};

/// Defaults of the family, with what the diffusion model's metadata says in their place (docs/metadata.md).
Defaults read_defaults(const WeightStore& diffusion_model, Defaults family);

}  // namespace gesso
