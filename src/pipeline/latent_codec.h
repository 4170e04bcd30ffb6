#pragma once
#include <functional>
#include <vector>

#include "device/device.h"
#include "models/components.h"
#include "models/latent_diffusion.h"
#include "pipeline/tiles.h"
#include "sampling/latent.h"

namespace gesso {

/// Latents as the denoiser has them to pictures and back: by the model's autoencoder or by a tiny one in its place,
/// whole or in tiles. Runs on any device; what the device wraps is wrapped, across tiles too.
class LatentCodec {
 public:
  /// A tiny autoencoder without an encoder leaves encoding to the model's.
  explicit LatentCodec(LatentDiffusion& model, const TinyPart* tiny = nullptr, Tiling tiling = {})
      : model_(&model), tiny_(tiny), tiling_(tiling) {}

  /// Called after tile `done` of `all`, 1 being the first.
  using OnTile = std::function<void(int done, int all)>;

  /// A latent -> RGB in [-1, 1] or a little beyond, rows from the top, 3 values a pixel.
  std::vector<float> decode(Device& device, const Latent& latent, DType dtype, const OnTile& on_tile = {}) const;
  /// RGB in [-1, 1], width * height * 3 values -> a latent.
  Latent encode(Device& device, const std::vector<float>& picture, int width, int height, DType dtype,
                const OnTile& on_tile = {}) const;

  /// The same in other tiles.
  LatentCodec with(const Tiling& tiling) const { return LatentCodec(*model_, tiny_, tiling); }
  const Tiling& tiling() const { return tiling_; }
  const LatentFormat& format() const { return model_->latent_format(); }
  /// How many tiles a latent of that size has.
  int tiles(Wrap wrap, int width, int height) const;
  /// The weights that it may use.
  std::vector<WeightStore*> weights() const;

 private:
  std::vector<float> decode_whole(Device& device, const Latent& latent, DType dtype) const;
  Latent encode_whole(Device& device, const std::vector<float>& picture, int width, int height, DType dtype) const;

  LatentDiffusion* model_;
  const TinyPart* tiny_;
  Tiling tiling_;
};

/// [1, h, w, c] on the device from a latent, and back.
Tensor upload(Device& device, const Latent& latent, DType dtype);
Latent download(const Tensor& x);

}  // namespace gesso
