#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "models/latent_diffusion.h"
#include "vae/kl_vae.h"
#include "vae/tiny_vae.h"

namespace gesso {

/// The component of that role; kNotFound when the model lacks it.
WeightStore& component(const Components& components, std::string_view role);
/// Null when the model lacks it.
WeightStore* find_component(const Components& components, std::string_view role);

/// A number other than 0 from the metadata, or `otherwise`; kBadFile when it is there and is none.
float metadata_float(const WeightStore& store, const std::string& key, float otherwise);

/// A KL autoencoder, and how its latents relate to the network's.
struct KlPart {
  /// `family` says what the diffusion model's latents are; metadata of the file goes before its factor and shift, and
  /// makes latents of their own kind where it differs. A null store means that none was given: the format alone holds
  /// then. Throws kBadFile unless the autoencoder's latents have the model's channels.
  KlPart(WeightStore* store, const LatentFormat& family);
  /// As LatentDiffusion::decode and encode_picture.
  Tensor decode(const Tensor& latents) const;
  Tensor encode(const Tensor& pictures) const;
  std::optional<KlDecoder> decoder;
  std::optional<KlEncoder> encoder;  ///< where the file has one
  LatentFormat format;
};

/// A tiny autoencoder (TAESD and its kin) that stands in for a model's own one: faster, and not quite as exact.
struct TinyPart {
  /// Throws kBadFile unless its latents are as `format` says, and kUnsupported for one that can only encode.
  TinyPart(std::unique_ptr<WeightStore> weights, const LatentFormat& format);
  std::unique_ptr<WeightStore> store;
  std::optional<TinyDecoder> decoder;
  std::optional<TinyEncoder> encoder;  ///< where the file has one
};

/// Defaults of the family, with what the diffusion model's metadata says in their place (docs/metadata.md).
Defaults read_defaults(const WeightStore& diffusion_model, Defaults family);

}  // namespace gesso
