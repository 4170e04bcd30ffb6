#include "models/stable_diffusion.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "models/components.h"
#include "models/unet.h"
#include "nn/embeddings.h"
#include "ops/ops.h"

namespace gesso {
namespace {

class StableDiffusion final : public LatentDiffusion {
 public:
  StableDiffusion(Components components, const StableDiffusionTraits& traits);

  const LatentFormat& latent_format() const override { return vae_->format; }
  const Defaults& defaults() const override { return defaults_; }
  const Denoising& denoising() const override { return denoising_; }

  Conditioning encode(Device& device, DType compute, std::string_view prompt, const PromptOptions& options) override;
  std::string explain(std::string_view text, const PromptOptions& options) const override;
  std::vector<TextLength> measure(std::string_view text, const PromptOptions& options) const override;
  Tensor predict(const Tensor& x, float timestep, const Tensor& context, const Tensor& vector) override {
    const std::vector<float> timesteps(static_cast<size_t>(x.dim(0)), timestep);
    return (*unet_)(x, timesteps, context, vector);
  }
  Tensor decode(const Tensor& latents) override { return vae_->decode(latents); }
  bool can_wrap() const override { return true; }
  ExtraInput extra_input() const override { return extra_input_; }
  Tensor encode_picture(const Tensor& pictures) override { return vae_->encode(pictures); }

  std::vector<WeightStore*> text_weights() override;
  WeightStore& denoiser_weights() override { return component(components_, "diffusion_model"); }
  WeightStore* decoder_weights() override { return find_component(components_, "vae"); }

 private:
  void read_denoising();

  Components components_;
  StableDiffusionTraits traits_;
  Defaults defaults_;
  Denoising denoising_;
  ClipTokenizer tokenizer_;
  std::vector<ClipText> encoders_;
  std::optional<UNet> unet_;
  std::optional<KlPart> vae_;
  ExtraInput extra_input_ = ExtraInput::kNone;
};

StableDiffusion::StableDiffusion(Components components, const StableDiffusionTraits& traits)
    : components_(std::move(components)), traits_(traits) {
  WeightStore& unet = component(components_, "diffusion_model");
  defaults_ = read_defaults(unet, traits.defaults);
  UNet::Config config;
  config.groups = static_cast<int>(unet.metadata_int("unet_norm_num_groups", 32, 1, 4096));
  config.heads = static_cast<int>(unet.metadata_int("num_heads", traits.fixed_heads, 0, 4096));
  if (unet.metadata("num_head_channels")) config.heads = 0;
  config.head_channels = static_cast<int>(unet.metadata_int("num_head_channels", 64, 1, 4096));
  unet_.emplace(WeightScope(unet), config);

  int64_t context = 0;
  for (const auto& encoder : traits.encoders) {
    encoders_.emplace_back(component(components_, encoder.role), encoder);
    context += encoders_.back().width();
  }
  if (context != unet_->context_width())
    fail(ErrorCode::kBadFile,
         "the text encoders give {} channels and the diffusion model wants {}: they belong to different models",
         context, unet_->context_width());

  const int channels = static_cast<int>(unet_->out_channels());
  vae_.emplace(find_component(components_, "vae"),
               LatentFormat{.channels = channels, .factor = traits.latent_factor, .projection = &traits.projection()});
  if (unet_->in_channels() == 2 * channels + 1) {
    extra_input_ = ExtraInput::kMaskAndPicture;
  } else if (unet_->in_channels() != channels) {
    fail(ErrorCode::kUnsupported,
         "the diffusion model takes {} channels where a latent has {}: what the others hold is not known",
         unet_->in_channels(), channels);
  }
  read_denoising();
}

void StableDiffusion::read_denoising() {
  WeightStore& unet = component(components_, "diffusion_model");
  for (const char* key : {"prediction_type", "modelspec.prediction_type"})
    if (const auto type = unet.metadata(key)) {
      denoising_.prediction = type->starts_with('v') ? "v" : "eps";
      return;
    }
  if (unet.metadata("marker.v_pred")) denoising_.prediction = "v";
  denoising_.zero_terminal_snr = unet.metadata("marker.ztsnr").has_value();
  // Nothing in an SD 2.x file says whether it predicts noise or velocity. The spread of this bias tells the 768-pixel v
  // models from the 512-pixel ones (ComfyUI's supported_models.py); 0.09 lies between what the two have.
  const char* bias = "output_blocks.11.1.transformer_blocks.0.norm1.bias";
  if (const auto shape = unet.shape(bias); shape && traits_.velocity_by_spread) {
    const std::vector<float> values = unet.get(bias, *shape)->values();
    const double n = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    const double square = std::inner_product(values.begin(), values.end(), values.begin(), 0.0) / n;
    if (std::sqrt(std::max(0.0, square - mean * mean)) > 0.09) {
      denoising_.prediction = "v";
      if (!unet.metadata("image_size")) defaults_.width = defaults_.height = 768;
    }
  }
}

std::vector<WeightStore*> StableDiffusion::text_weights() {
  std::vector<WeightStore*> stores;
  for (const auto& encoder : traits_.encoders) stores.push_back(&component(components_, encoder.role));
  return stores;
}

Conditioning StableDiffusion::encode(Device& device, DType compute, std::string_view text,
                                     const PromptOptions& options) {
  const Prompt prompt = parse_prompt(text, options.syntax);
  Conditioning result;
  Tensor pooled;
  for (size_t i = 0; i < encoders_.size(); ++i) {
    // The pooled text is that of the last encoder.
    const bool pool = traits_.size_conditioning && i + 1 == encoders_.size();
    const ClipText::States states = encoders_[i].encode(tokenizer_, device, compute, prompt, options.clip_skip, pool);
    if (pool) pooled = states.pooled;
    result.context = i == 0 ? states.hidden : concat(result.context, states.hidden);
  }
  if (traits_.size_conditioning) {
    // Original size, crop offset, target size, each height (top) first; 256 channels a number.
    const float w = static_cast<float>(options.width), h = static_cast<float>(options.height);
    const std::array<float, 6> sizes{h, w, 0, 0, h, w};
    const int64_t width = unet_->vector_width() - pooled.dim(1);
    if (width <= 0 || width % 6 != 0)
      fail(ErrorCode::kBadFile, "the diffusion model takes a vector of {} channels, the pooled text has {}",
           unet_->vector_width(), pooled.dim(1));
    result.vector =
        concat(cast(pooled, DType::kF32), from_values(device, nn::sinusoidal_embedding(sizes, width / 6), {1, width}));
    result.vector = cast(result.vector, compute);
  }
  result.context = cast(result.context, compute);
  return result;
}

std::string StableDiffusion::explain(std::string_view text, const PromptOptions& options) const {
  std::string result;
  for (const ClipText& encoder : encoders_) result += encoder.explain(tokenizer_, parse_prompt(text, options.syntax));
  return result;
}

std::vector<TextLength> StableDiffusion::measure(std::string_view text, const PromptOptions& options) const {
  const Prompt prompt = parse_prompt(text, options.syntax);
  std::vector<TextLength> lengths;
  for (const ClipText& encoder : encoders_) lengths.push_back(encoder.measure(tokenizer_, prompt));
  return lengths;
}

}  // namespace

std::unique_ptr<LatentDiffusion> make_stable_diffusion(Components components, const StableDiffusionTraits& traits) {
  return std::make_unique<StableDiffusion>(std::move(components), traits);
}

}  // namespace gesso
