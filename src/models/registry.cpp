#include "models/registry.h"

#include "models/known/known.h"

namespace gesso {

std::span<const Family* const> families() {
  static const Family* const kFamilies[] = {
      &sd1_family(),
      &sd2_family(),
      &sdxl_family(),
      &sd3_family(),
      &chroma_family(),
      &flux2_family(),
      &flux1_family(),
      &qwen_image_family(),
      &z_image_family(),
      &anima_family(),
      &krea2_family(),
      &wan_family(),
      &hunyuan_video_family(),
      &ltx2_family(),
      &animatediff_family(),
      &unclear_family(),
      &photomaker_family(),
      &kl_vae_family(),
      &taesd_family(),
      &siglip_family(),
      &clip_family(),
      &clip_vision_family(),
      &clip_xlm_roberta_family(),
      &umt5_family(),
      &t5_family(),
      &qwen25_vl_family(),
      &qwen3_family(),
      &gemma3_family(),
      &mistral3_family(),
      &chatglm_family(),
      &midas_family(),
      &esrgan_family(),
  };
  return kFamilies;
}

const Family* find_family(std::string_view id) {
  for (const Family* family : families())
    if (family->id == id) return family;
  return nullptr;
}

}  // namespace gesso
