#include "models/family.h"

namespace gesso {
namespace {

struct Row {
  Role role;
  std::string_view name, title;
  std::string_view option = "";  ///< of `gesso generate`
};

constexpr Row kRows[] = {
    {Role::kDiffusionModel, "diffusion_model", "diffusion model", "--diffusion-model"},
    {Role::kClipL, "clip_l", "CLIP-L text encoder", "--clip_l"},
    {Role::kClipG, "clip_g", "OpenCLIP-G text encoder", "--clip_g"},
    {Role::kClipH, "clip_h", "OpenCLIP-H text encoder", "--clip_h"},
    {Role::kT5, "t5", "T5 text encoder", "--t5xxl"},
    {Role::kLanguageModel, "language_model", "language model (text encoder)"},
    {Role::kVisionEncoder, "vision_encoder", "image encoder"},
    {Role::kVae, "vae", "autoencoder (VAE)", "--vae"},
    {Role::kTinyVae, "tiny_vae", "tiny autoencoder", "--taesd"},
    {Role::kAudioVae, "audio_vae", "audio autoencoder"},
    {Role::kVocoder, "vocoder", "vocoder"},
    {Role::kLora, "lora", "LoRA"},
    {Role::kControlNet, "controlnet", "ControlNet"},
    {Role::kIpAdapter, "ip_adapter", "IP-Adapter"},
    {Role::kIdEncoder, "id_encoder", "identity encoder"},
    {Role::kAdapter, "adapter", "adapter"},
    {Role::kMotionModule, "motion_module", "motion module"},
    {Role::kEmbedding, "embedding", "embedding (textual inversion)"},
    {Role::kUpscaler, "upscaler", "upscaler"},
    {Role::kLatentUpscaler, "latent_upscaler", "latent upscaler"},
    {Role::kDepthModel, "depth_model", "depth model"},
};

const Row& row(Role role) {
  return kRows[static_cast<size_t>(role)];
}

}  // namespace

std::string_view to_string(Role role) {
  return row(role).name;
}
std::string_view title_of(Role role) {
  return row(role).title;
}
std::string_view option_of(Role role) {
  return row(role).option;
}

}  // namespace gesso
