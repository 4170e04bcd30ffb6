#pragma once
#include <memory>
#include <optional>

#include "media/image.h"
#include "models/latent_projection.h"
#include "pipeline/latent_codec.h"
#include "pipeline/request.h"

namespace gesso {

struct LoadedModel;

/// Makes pictures of latents that are not finished.
class Preview {
 public:
  /// As the request wants them (its `preview`); null when it wants none. Throws kUsage for "tae" without a tiny
  /// autoencoder and kNotFound for "vae" without the model's own.
  static std::unique_ptr<Preview> of(LoadedModel& loaded, const Request& request);

  /// A codec that each preview runs; null for a projection.
  const LatentCodec* decoder() const { return fits() || !codec_ ? nullptr : &*codec_; }
  /// A codec that prepare() runs once, on a latent of kFitSide each way; null when nothing is to be fitted.
  const LatentCodec* fitter() const { return fits() && !*projection_ ? &*codec_ : nullptr; }
  /// Decodes in such tiles from now on.
  void use(const Tiling& tiling) {
    if (codec_) codec_ = codec_->with(tiling);
  }
  /// Fits the projection of latents for which none is published: least squares over what the model's own decoder makes
  /// of patches of colour that a fixed seed draws. It is kept with the model.
  void prepare(Device& device, DType dtype);
  /// The picture of a latent, as large as decoding gives it, or, projected, a pixel for each latent. Where bf16 gives
  /// NaN or infinity it computes again in f32; empty when that does too.
  std::optional<Image> picture(Device& device, const Latent& latent, DType dtype) const;

  static constexpr int kFitSide = 24;

 private:
  Preview() = default;
  bool fits() const { return projection_ != nullptr; }

  std::optional<LatentCodec> codec_;
  const LatentProjection* published_ = nullptr;
  std::shared_ptr<const LatentProjection>* projection_ = nullptr;  ///< the model's; what it points to may be null yet
};

/// Whether a preview is due after step `step` (1 is the first).
inline bool preview_is_due(const Request& request, int step) {
  return step % request.preview_interval == 0;
}

/// Each latent's colour.
Image projected(const LatentProjection& projection, const Latent& latent);

/// The projection that comes nearest to a picture (RGB in [-1, 1], `scale` pixels a latent each way) of the latent.
LatentProjection fit_projection(const Latent& latent, const std::vector<float>& picture, int scale);

}  // namespace gesso
