#include "models/mmdit_diffusion.h"

#include <optional>

#include "base/error.h"
#include "models/components.h"
#include "models/mmdit.h"
#include "models/prompt_encoders.h"
#include "nn/tokens.h"
#include "ops/ops.h"

namespace gesso {
namespace {

constexpr int64_t kT5Tokens = 256;
constexpr float kLatentFactor = 1.5305f, kLatentShift = 0.0609f;
constexpr double kFlowShift = 3;

Tensor zeros(Device& device, const Shape& shape) {
  return from_values(device, std::vector<float>(static_cast<size_t>(shape.elements()), 0.f), shape);
}

class MmDitDiffusion final : public LatentDiffusion {
 public:
  explicit MmDitDiffusion(Components components);

  const LatentFormat& latent_format() const override { return vae_.format; }
  const Defaults& defaults() const override { return defaults_; }
  const Denoising& denoising() const override { return denoising_; }
  std::vector<std::string> notices() const override {
    if (t5_) return {};
    return {"there is no T5 text encoder (--t5xxl FILE): prompts are read by the CLIP encoders alone"};
  }

  Conditioning encode(Device& device, DType compute, std::string_view prompt, const PromptOptions& options) override;
  std::string explain(std::string_view text, const PromptOptions& options) const override;
  std::vector<TextLength> measure(std::string_view text, const PromptOptions& options) const override;
  Tensor predict(const Tensor& x, float timestep, const Tensor& context, const Tensor& vector) override {
    const std::vector<float> timesteps(static_cast<size_t>(x.dim(0)), timestep);
    return network_(x, timesteps, context, vector);
  }
  Tensor decode(const Tensor& latents) override { return vae_.decode(latents); }
  Tensor encode_picture(const Tensor& pictures) override { return vae_.encode(pictures); }

  std::vector<WeightStore*> text_weights() override;
  WeightStore& denoiser_weights() override { return component(components_, "diffusion_model"); }
  WeightStore* decoder_weights() override { return find_component(components_, "vae"); }

 private:
  Components components_;
  MmDit network_;
  ClipTokenizer tokenizer_;
  ClipText clip_l_, clip_g_;
  std::optional<T5Text> t5_;
  KlPart vae_;
  int64_t t5_tokens_;
  Defaults defaults_;
  Denoising denoising_;
};

MmDitDiffusion::MmDitDiffusion(Components components)
    : components_(std::move(components)),
      network_(
          WeightScope(component(components_, "diffusion_model")),
          {.head_channels = component(components_, "diffusion_model").metadata_int("num_head_channels", 64, 1, 4096)}),
      clip_l_(component(components_, "clip_l"),
              {.role = "clip_l", .quick_gelu = true, .final_norm = false, .pad = ClipTokenizer::kEos}),
      clip_g_(component(components_, "clip_g"), {.role = "clip_g", .final_norm = false, .heads_key = "clip_g_heads"}),
      vae_(find_component(components_, "vae"), {.channels = static_cast<int>(network_.channels()),
                                                .factor = kLatentFactor,
                                                .shift = kLatentShift,
                                                .projection = &kl_f8_16_projection(),
                                                .patch = 2}) {
  const WeightStore& model = component(components_, "diffusion_model");
  if (WeightStore* t5 = find_component(components_, "t5")) t5_.emplace(*t5);
  const int64_t width = network_.context_width(), clip = clip_l_.width() + clip_g_.width();
  if (clip > width || clip_l_.pooled_width() + clip_g_.pooled_width() != network_.vector_width() ||
      (t5_ && t5_->width() != width))
    fail(ErrorCode::kBadFile,
         "the diffusion model wants texts of {} channels and {} of pooled text; the encoders give {} (CLIP), {} (T5) "
         "and "
         "{}: they belong to different models",
         width, network_.vector_width(), clip, t5_ ? t5_->width() : width,
         clip_l_.pooled_width() + clip_g_.pooled_width());
  t5_tokens_ = model.metadata_int("text_tokens", kT5Tokens, 1, 4096);
  defaults_ = read_defaults(model, {.width = 1024,
                                    .height = 1024,
                                    .steps = 28,
                                    .cfg_scale = 4.5,
                                    .clip_skip = 2,
                                    .sampler = "euler",
                                    .scheduler = "simple"});
  denoising_ = {.prediction = "flow", .flow_shift = kFlowShift};
}

std::vector<WeightStore*> MmDitDiffusion::text_weights() {
  std::vector<WeightStore*> stores{&component(components_, "clip_l"), &component(components_, "clip_g")};
  if (t5_) stores.push_back(&component(components_, "t5"));
  return stores;
}

Conditioning MmDitDiffusion::encode(Device& device, DType compute, std::string_view text,
                                    const PromptOptions& options) {
  const Prompt prompt = parse_prompt(text, options.syntax);
  const auto first = ClipText::Length::kFirstChunk;
  const auto l = clip_l_.encode(tokenizer_, device, compute, prompt, options.clip_skip, true, first);
  const auto g = clip_g_.encode(tokenizer_, device, compute, prompt, options.clip_skip, true, first);
  Conditioning result;
  result.vector = concat(l.pooled, g.pooled);

  const int64_t width = network_.context_width(), tokens = l.hidden.dim(1);
  Tensor clip = concat(l.hidden, g.hidden);
  if (clip.dim(2) < width) clip = concat(clip, zeros(device, {1, tokens, width - clip.dim(2)}));
  const Tensor t5 = t5_ ? t5_->encode(device, compute, prompt, static_cast<size_t>(t5_tokens_), result.notice)
                        : zeros(device, {1, t5_tokens_, width});
  result.context = cast(nn::join_tokens(clip, t5), compute);
  return result;
}

std::string MmDitDiffusion::explain(std::string_view text, const PromptOptions& options) const {
  const Prompt prompt = parse_prompt(text, options.syntax);
  std::string result = clip_l_.explain(tokenizer_, prompt) + clip_g_.explain(tokenizer_, prompt);
  if (t5_) result += t5_->explain(prompt, static_cast<size_t>(t5_tokens_));
  return result;
}

std::vector<TextLength> MmDitDiffusion::measure(std::string_view text, const PromptOptions& options) const {
  const Prompt prompt = parse_prompt(text, options.syntax);
  std::vector<TextLength> lengths{clip_l_.measure(tokenizer_, prompt), clip_g_.measure(tokenizer_, prompt)};
  if (t5_) lengths.push_back(t5_->measure(prompt, static_cast<size_t>(t5_tokens_)));
  return lengths;
}

}  // namespace

std::unique_ptr<LatentDiffusion> make_mmdit(Components components) {
  return std::make_unique<MmDitDiffusion>(std::move(components));
}

}  // namespace gesso
