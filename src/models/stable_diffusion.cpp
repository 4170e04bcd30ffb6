#include "models/stable_diffusion.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "models/unet.h"
#include "ops/ops.h"
#include "text/chunks.h"
#include "text/clip_encoder.h"
#include "vae/kl_vae.h"

namespace gesso {
namespace {

WeightStore& component(const Components& components, std::string_view role) {
  const auto found = components.find(role);
  if (found == components.end()) fail(ErrorCode::kNotFound, "the model lacks its {}", role);
  return *found->second;
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

/// Scales the states of weighted tokens, then restores the mean of the chunk, as the AUTOMATIC1111 web UI does
/// (modules/sd_emphasis.py, "Original").
void emphasise(std::span<float> states, std::span<const float> weights) {
  const size_t width = states.size() / weights.size();
  if (std::all_of(weights.begin(), weights.end(), [](float w) { return w == 1.f; })) return;
  const double before = std::accumulate(states.begin(), states.end(), 0.0);
  for (size_t t = 0; t < weights.size(); ++t)
    for (float& value : states.subspan(t * width, width)) value *= weights[t];
  const double after = std::accumulate(states.begin(), states.end(), 0.0);
  if (after == 0) return;
  for (float& value : states) value *= static_cast<float>(before / after);
}

class StableDiffusion final : public LatentDiffusion {
 public:
  StableDiffusion(Components components, const StableDiffusionTraits& traits);

  const LatentFormat& latent_format() const override { return format_; }
  const Defaults& defaults() const override { return defaults_; }
  const Denoising& denoising() const override { return denoising_; }

  Conditioning encode(Device& device, DType compute, std::string_view prompt, const PromptOptions& options) override;
  Tensor predict(const Tensor& x, float timestep, const Tensor& context, const Tensor& vector) override {
    const std::vector<float> timesteps(static_cast<size_t>(x.dim(0)), timestep);
    return (*unet_)(x, timesteps, context, vector);
  }
  Tensor decode(const Tensor& latents) override { return (*decoder_)(latents); }
  ExtraInput extra_input() const override { return extra_input_; }
  Tensor encode_picture(const Tensor& pictures) override {
    if (!encoder_)
      fail(ErrorCode::kUnsupported, "the autoencoder of this model can only decode: give a whole one with --vae FILE");
    return encoder_->mean(pictures);
  }

  std::vector<WeightStore*> text_weights() override;
  WeightStore& denoiser_weights() override { return component(components_, "diffusion_model"); }
  WeightStore& decoder_weights() override { return component(components_, "vae"); }

 private:
  Tensor encode_with(size_t index, Device& device, DType compute, const Prompt& prompt, int clip_skip, Tensor* pooled);
  void read_denoising();

  Components components_;
  StableDiffusionTraits traits_;
  LatentFormat format_;
  Defaults defaults_;
  Denoising denoising_;
  ClipTokenizer tokenizer_;
  std::vector<ClipEncoder> encoders_;
  std::optional<UNet> unet_;
  std::optional<KlDecoder> decoder_;
  std::optional<KlEncoder> encoder_;
  ExtraInput extra_input_ = ExtraInput::kNone;
};

StableDiffusion::StableDiffusion(Components components, const StableDiffusionTraits& traits)
    : components_(std::move(components)), traits_(traits), defaults_(traits.defaults) {
  WeightStore& unet = component(components_, "diffusion_model");
  UNet::Config config;
  config.groups = static_cast<int>(unet.metadata_int("unet_norm_num_groups", 32, 1, 4096));
  config.heads = static_cast<int>(unet.metadata_int("num_heads", traits.fixed_heads, 0, 4096));
  if (unet.metadata("num_head_channels")) config.heads = 0;
  config.head_channels = static_cast<int>(unet.metadata_int("num_head_channels", 64, 1, 4096));
  unet_.emplace(WeightScope(unet), config);

  int64_t context = 0;
  for (const auto& encoder : traits.encoders) {
    WeightStore& store = component(components_, encoder.role);
    const std::string act = store.metadata("clip_hidden_act").value_or(encoder.quick_gelu ? "quick_gelu" : "gelu");
    encoders_.emplace_back(WeightScope(store),
                           ClipEncoder::Config{static_cast<int>(store.metadata_int(encoder.heads_key, 0, 0, 4096)),
                                               act == "quick_gelu" ? Activation::kQuickGelu : Activation::kGelu});
    context += encoders_.back().width();
    if (encoders_.back().tokens() != static_cast<int64_t>(PromptChunk::kLength))
      fail(ErrorCode::kBadFile, "the {} takes {} tokens where {} are wanted", encoder.role, encoders_.back().tokens(),
           PromptChunk::kLength);
  }
  if (context != unet_->context_width())
    fail(ErrorCode::kBadFile,
         "the text encoders give {} channels and the diffusion model wants {}: they belong to different models",
         context, unet_->context_width());

  WeightStore& vae = component(components_, "vae");
  const int vae_groups = static_cast<int>(vae.metadata_int("vae_norm_num_groups", 32, 1, 4096));
  decoder_.emplace(WeightScope(vae), vae_groups);
  if (vae.has("encoder.conv_in.weight")) encoder_.emplace(WeightScope(vae), vae_groups);
  format_ = {static_cast<int>(decoder_->latent_channels()), decoder_->scale(),
             metadata_float(vae, "scale_factor", traits.latent_factor), 0.f};
  if (unet_->out_channels() != format_.channels)
    fail(ErrorCode::kBadFile,
         "the diffusion model makes latents of {} channels and the VAE takes {}: they belong to different models",
         unet_->out_channels(), format_.channels);
  if (unet_->in_channels() == 2 * format_.channels + 1) {
    extra_input_ = ExtraInput::kMaskAndPicture;
  } else if (unet_->in_channels() != format_.channels) {
    fail(ErrorCode::kUnsupported,
         "the diffusion model takes {} channels where a latent has {}: what the others hold "
         "is not known",
         unet_->in_channels(), format_.channels);
  }
  read_denoising();

  defaults_.width = defaults_.height =
      static_cast<int>(unet.metadata_int("image_size", traits.defaults.width, 64, 8192));
  defaults_.steps = static_cast<int>(unet.metadata_int("default_steps", traits.defaults.steps, 1, 1000));
  defaults_.cfg_scale = metadata_float(unet, "default_cfg_scale", static_cast<float>(traits.defaults.cfg_scale));
  defaults_.sampler = unet.metadata("default_sampler").value_or(traits.defaults.sampler);
  defaults_.scheduler = unet.metadata("default_scheduler").value_or(traits.defaults.scheduler);
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
      defaults_.width = defaults_.height = 768;
    }
  }
}

std::vector<WeightStore*> StableDiffusion::text_weights() {
  std::vector<WeightStore*> stores;
  for (const auto& encoder : traits_.encoders) stores.push_back(&component(components_, encoder.role));
  return stores;
}

Tensor StableDiffusion::encode_with(size_t index, Device& device, DType compute, const Prompt& prompt, int clip_skip,
                                    Tensor* pooled) {
  const auto& traits = traits_.encoders[index];
  const std::vector<PromptChunk> chunks = chunk_prompt(tokenizer_, prompt, {.pad = traits.pad});
  std::vector<int32_t> ids;
  std::vector<float> weights;
  std::vector<int> ends;
  for (const PromptChunk& chunk : chunks) {
    ids.insert(ids.end(), chunk.ids.begin(), chunk.ids.end());
    weights.insert(weights.end(), chunk.weights.begin(), chunk.weights.end());
    ends.push_back(chunk.eos);
  }
  const ClipEncoder& encoder = encoders_[index];
  // OpenCLIP-H files saved by transformers leave out the last of its 24 layers, which SD 2.x never uses.
  const bool trimmed = encoder.layers() == 23;
  const auto output = encoder(device, compute, ids, ends,
                              {.skip = std::max(1, clip_skip - (trimmed ? 1 : 0)),
                               .final_norm = traits.final_norm,
                               .pooled = pooled != nullptr});
  if (pooled) *pooled = output.pooled.slice(0, 1);
  std::vector<float> states = to_values(output.hidden);
  const size_t chunk_size = states.size() / chunks.size();
  for (size_t c = 0; c < chunks.size(); ++c)
    emphasise(std::span(states).subspan(c * chunk_size, chunk_size), chunks[c].weights);
  return from_values(device, states, {1, static_cast<int64_t>(ids.size()), encoder.width()});
}

Conditioning StableDiffusion::encode(Device& device, DType compute, std::string_view text,
                                     const PromptOptions& options) {
  const Prompt prompt = parse_prompt(text);
  Conditioning result;
  Tensor pooled;
  for (size_t i = 0; i < encoders_.size(); ++i) {
    // The pooled text is that of the last encoder.
    const bool pool = traits_.size_conditioning && i + 1 == encoders_.size();
    const Tensor states = encode_with(i, device, compute, prompt, options.clip_skip, pool ? &pooled : nullptr);
    result.context = i == 0 ? states : concat(result.context, states);
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
        concat(cast(pooled, DType::kF32), from_values(device, sinusoidal_embedding(sizes, width / 6), {1, width}));
    result.vector = cast(result.vector, compute);
  }
  result.context = cast(result.context, compute);
  return result;
}

}  // namespace

std::unique_ptr<LatentDiffusion> make_stable_diffusion(Components components, const StableDiffusionTraits& traits) {
  return std::make_unique<StableDiffusion>(std::move(components), traits);
}

}  // namespace gesso
