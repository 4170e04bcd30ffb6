#include "compatibility.h"

#include <algorithm>

namespace cli {
namespace {

using enum CompatibleOption::Kind;

constexpr std::string_view kPlanned = "memory is planned by itself; see --memory";
constexpr std::string_view kFast = "always on: the engine chooses its fastest way";
constexpr std::string_view kNoFamily = "read only by kinds of model that do not exist here yet";
constexpr std::string_view kNoInput = "without effect until the picture it belongs to can be given";

// clang-format off
constexpr CompatibleOption kOptions[] = {
    // performance and memory: the picture is the same
    {kAccepted, "--mmap", "", "always on: model files are mapped, never copied whole"},
    {kAccepted, "--offload-to-cpu", "", "the model is on the CPU already"},
    {kAccepted, "--clip-on-cpu", "", "the text encoders are on the CPU already"},
    {kAccepted, "--vae-on-cpu", "", "the autoencoder is on the CPU already"},
    {kAccepted, "--control-net-cpu", "", "everything is on the CPU already"},
    {kAccepted, "--fa", "", kFast},
    {kAccepted, "--diffusion-fa", "", kFast},
    {kAccepted, "--diffusion-conv-direct", "", kFast},
    {kAccepted, "--vae-conv-direct", "", kFast},
    {kAccepted, "--extra-tiling-args", "TEXT", kNoFamily},
    {kAccepted, "--stream-layers", "", kPlanned},
    {kAccepted, "--eager-load", "", kPlanned},
    {kAccepted, "--auto-fit", "", kPlanned},
    {kAccepted, "--color", "", "colour is used where the terminal has it"},
    {kAccepted, "--lora-model-dir", "DIR", "read when a prompt names a LoRA, which is not supported yet"},
    {kAccepted, "--lora-apply-mode", "NAME", "as --lora-model-dir"},

    // of models or inputs that do not exist yet; alone they change nothing
    {kAccepted, "--moe-boundary", "X", kNoFamily},
    {kAccepted, "--model-args", "TEXT", kNoFamily},
    {kAccepted, "--qwen-image-layers", "N", kNoFamily},
    {kAccepted, "--fps", "N", kNoFamily},
    {kAccepted, "--skip-layers", "LIST", "without effect while --slg-scale is 0"},
    {kAccepted, "--skip-layer-start", "X", "without effect while --slg-scale is 0"},
    {kAccepted, "--skip-layer-end", "X", "without effect while --slg-scale is 0"},
    {kAccepted, "--img-cfg-scale", "X", kNoFamily},
    {kAccepted, "--control-strength", "X", kNoInput},
    {kAccepted, "--ip-adapter-strength", "X", kNoInput},
    {kAccepted, "--vace-strength", "X", kNoInput},
    {kAccepted, "--pm-style-strength", "X", kNoInput},
    {kAccepted, "--pulid-id-weight", "X", kNoInput},
    {kAccepted, "--upscale-repeats", "N", kNoInput},
    {kAccepted, "--upscale-tile-size", "N", kNoInput},
    {kAccepted, "--hires-upscaler", "NAME", "without effect without --hires"},
    {kAccepted, "--hires-upscalers-dir", "DIR", "without effect without --hires"},
    {kAccepted, "--hires-scale", "X", "without effect without --hires"},
    {kAccepted, "--hires-width", "PX", "without effect without --hires"},
    {kAccepted, "--hires-height", "PX", "without effect without --hires"},
    {kAccepted, "--hires-steps", "N", "without effect without --hires"},
    {kAccepted, "--hires-sigmas", "LIST", "without effect without --hires"},
    {kAccepted, "--hires-denoising-strength", "X", "without effect without --hires"},
    {kAccepted, "--hires-upscale-tile-size", "N", "without effect without --hires"},
    {kAccepted, "--cache-option", "TEXT", "without effect without --cache-mode"},
    {kAccepted, "--scm-mask", "TEXT", "without effect without --cache-mode"},
    {kAccepted, "--scm-policy", "NAME", "without effect without --cache-mode"},

    // features that do not exist yet
    {kMissing, "-M,--mode", "NAME", "modes other than img_gen", "img_gen txt2img"},
    {kMissing, "--end-img", "FILE", "a last picture"},
    {kMissing, "--control-image", "FILE", "control pictures"},
    {kMissing, "--control-video", "DIR", "control videos"},
    {kMissing, "--control-net", "FILE", "control networks"},
    {kMissing, "--canny", "", "edge detection"},
    {kMissing, "-r,--ref-image", "FILE", "reference pictures"},
    {kMissing, "--ref-video", "FILE", "reference videos"},
    {kMissing, "--ref-video-audio", "FILE", "reference sound"},
    {kMissing, "--ref-audio", "FILE", "reference sound"},
    {kMissing, "--ref-image-args", "TEXT", "reference pictures", "auto"},
    {kMissing, "--increase-ref-index", "", "reference pictures"},
    {kMissing, "--disable-auto-resize-ref-image", "", "reference pictures"},
    {kMissing, "--ip-adapter", "FILE", "picture prompts"},
    {kMissing, "--ip-adapter-image", "FILE", "picture prompts"},
    {kMissing, "--motion-module", "FILE", "motion modules"},
    {kMissing, "--photo-maker", "FILE", "identity adapters"},
    {kMissing, "--pm-id-images-dir", "DIR", "identity adapters"},
    {kMissing, "--pm-id-embed-path", "FILE", "identity adapters"},
    {kMissing, "--pulid-weights", "FILE", "identity adapters"},
    {kMissing, "--pulid-id-embedding", "FILE", "identity adapters"},
    {kMissing, "--embd-dir", "DIR", "textual-inversion embeddings"},
    {kMissing, "--upscale-model", "FILE", "upscaling while painting (`gesso upscale` does it afterwards)"},
    {kMissing, "--hires", "", "a second pass at a higher resolution"},
    {kMissing, "--ad-model", "FILE", "repainting detected faces"},
    {kMissing, "--ad-prompt", "TEXT", "repainting detected faces"},
    {kMissing, "--ad-negative-prompt", "TEXT", "repainting detected faces"},
    {kMissing, "--extra-ad-args", "TEXT", "repainting detected faces"},
    {kMissing, "--high-noise-diffusion-model", "FILE", "models in two parts"},
    {kMissing, "--high-noise-steps", "N", "models in two parts", "-1"},
    {kMissing, "--high-noise-sampling-method", "NAME", "models in two parts"},
    {kMissing, "--high-noise-cfg-scale", "X", "models in two parts"},
    {kMissing, "--uncond-diffusion-model", "FILE", "a network of its own for the negative prompt"},
    {kMissing, "--clip_vision", "FILE", "picture encoders"},
    {kMissing, "--llm,--qwen2vl", "FILE", "this text encoder"},
    {kMissing, "--llm_vision,--qwen2vl_vision", "FILE", "this text encoder"},
    {kMissing, "--embeddings-connectors", "FILE", "video models"},
    {kMissing, "--audio-vae", "FILE", "sound"},
    {kMissing, "--vae-format", "NAME", "naming an autoencoder's format", "auto"},
    {kMissing, "--force-sdxl-vae-conv-scale", "", "scaled convolutions in the autoencoder"},
    {kMissing, "--type", "NAME", "converting weights while loading"},
    {kMissing, "--tensor-type-rules", "TEXT", "converting weights while loading"},
    {kMissing, "--backend", "NAME", "devices other than the CPU", "cpu CPU"},
    {kMissing, "--params-backend", "NAME", "devices other than the CPU", "cpu CPU"},
    {kMissing, "--split-mode", "NAME", "several devices", "none layer"},
    {kMissing, "--rpc-servers", "LIST", "remote devices"},
    {kMissing, "--max-vram", "SIZE", "devices other than the CPU", "0 -1"},
    {kMissing, "--list-devices", "", "devices other than the CPU"},
    {kMissing, "--video-frames", "N", "videos", "1"},
    {kMissing, "--temporal-tiling", "", "videos"},
    {kMissing, "--slg-scale", "X", "skip-layer guidance", "0 0.0"},
    {kMissing, "--timestep-shift", "N", "shifted timesteps", "0"},
    {kMissing, "--cache-mode", "NAME", "step caches", "none disabled"},
    {kMissing, "--image", "FILE", "metadata mode; see gesso metadata"},
    {kMissing, "--convert-name", "", "converting models"},
};
// clang-format on

}  // namespace

std::span<const CompatibleOption> compatible_options() {
  return kOptions;
}

bool asks_for_nothing(const CompatibleOption& option, std::string_view value) {
  if (option.placeholder.empty()) return false;
  if (value.empty()) return true;
  for (std::string_view rest = option.inert; !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == value) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace cli
