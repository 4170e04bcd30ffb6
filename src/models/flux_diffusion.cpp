#include "models/flux_diffusion.h"

#include "base/error.h"
#include "models/components.h"
#include "models/flux.h"
#include "models/prompt_encoders.h"
#include "nn/embeddings.h"
#include "ops/ops.h"

namespace gesso {
namespace {

constexpr int kDevSteps = 20, kSchnellSteps = 4;
constexpr size_t kDevTokens = 512, kSchnellTokens = 256;  // of T5
constexpr float kLatentFactor = 0.3611f, kLatentShift = 0.1159f;

class FluxDiffusion final : public LatentDiffusion {
 public:
  explicit FluxDiffusion(Components components);

  const LatentFormat& latent_format() const override { return vae_.format; }
  const Defaults& defaults() const override { return defaults_; }
  const Denoising& denoising() const override { return denoising_; }

  Conditioning encode(Device& device, DType compute, std::string_view prompt, const PromptOptions& options) override;
  std::string explain(std::string_view text, const PromptOptions& options) const override;
  std::vector<TextLength> measure(std::string_view text, const PromptOptions& options) const override;
  Tensor predict(const Tensor& x, float timestep, const Tensor& context, const Tensor& vector) override {
    const std::vector<float> timesteps(static_cast<size_t>(x.dim(0)), timestep);
    return network_(x, timesteps, context, vector);
  }
  Tensor decode(const Tensor& latents) override { return vae_.decode(latents); }
  Tensor encode_picture(const Tensor& pictures) override { return vae_.encode(pictures); }

  std::vector<WeightStore*> text_weights() override {
    return {&component(components_, "clip_l"), &component(components_, "t5")};
  }
  WeightStore& denoiser_weights() override { return component(components_, "diffusion_model"); }
  WeightStore* decoder_weights() override { return find_component(components_, "vae"); }

 private:
  Components components_;
  Flux network_;
  ClipTokenizer tokenizer_;
  ClipText clip_;
  T5Text t5_;
  KlPart vae_;
  size_t tokens_;
  Defaults defaults_;
  Denoising denoising_;
};

FluxDiffusion::FluxDiffusion(Components components)
    : components_(std::move(components)),
      network_(WeightScope(component(components_, "diffusion_model"))),
      clip_(component(components_, "clip_l"), {.role = "clip_l", .quick_gelu = true, .pad = ClipTokenizer::kEos}),
      t5_(component(components_, "t5")),
      vae_(find_component(components_, "vae"), {.channels = static_cast<int>(network_.channels()),
                                                .factor = kLatentFactor,
                                                .shift = kLatentShift,
                                                .projection = &kl_f8_16_b_projection(),
                                                .patch = 2}),
      tokens_(network_.takes_guidance() ? kDevTokens : kSchnellTokens) {
  const WeightStore& model = component(components_, "diffusion_model");
  if (t5_.width() != network_.context_width() || clip_.pooled_width() != network_.pooled_width())
    fail(ErrorCode::kBadFile,
         "the diffusion model wants texts of {} channels from T5 and {} from CLIP-L; the encoders give {} and {}: they "
         "belong to different models",
         network_.context_width(), network_.pooled_width(), t5_.width(), clip_.pooled_width());
  tokens_ = static_cast<size_t>(model.metadata_int("text_tokens", static_cast<int64_t>(tokens_), 1, 4096));
  Defaults family{.width = 1024, .height = 1024, .cfg_scale = 1, .sampler = "euler", .scheduler = "simple"};
  family.steps = network_.takes_guidance() ? kDevSteps : kSchnellSteps;
  family.guidance = network_.takes_guidance() ? 3.5 : 0;
  defaults_ = read_defaults(model, family);
  denoising_ = {.prediction = "flow", .shift_by_tokens = network_.takes_guidance()};
}

Conditioning FluxDiffusion::encode(Device& device, DType compute, std::string_view text, const PromptOptions& options) {
  const Prompt prompt = parse_prompt(text, options.syntax);
  Conditioning result;
  result.context = cast(t5_.encode(device, compute, prompt, tokens_, result.notice), compute);
  const ClipText::States states =
      clip_.encode(tokenizer_, device, compute, prompt, 1, true, ClipText::Length::kFirstChunk);
  result.vector = states.pooled;
  if (network_.takes_guidance()) {
    const std::array<float, 1> guidance{static_cast<float>(options.guidance * 1000)};
    result.vector = concat(result.vector, nn::sinusoids(device, guidance, network_.guidance_width(), compute));
  }
  return result;
}

std::string FluxDiffusion::explain(std::string_view text, const PromptOptions& options) const {
  const Prompt prompt = parse_prompt(text, options.syntax);
  return clip_.explain(tokenizer_, prompt) + t5_.explain(prompt, tokens_);
}

std::vector<TextLength> FluxDiffusion::measure(std::string_view text, const PromptOptions& options) const {
  const Prompt prompt = parse_prompt(text, options.syntax);
  return {clip_.measure(tokenizer_, prompt), t5_.measure(prompt, tokens_)};
}

}  // namespace

std::unique_ptr<LatentDiffusion> make_flux(Components components) {
  return std::make_unique<FluxDiffusion>(std::move(components));
}

}  // namespace gesso
