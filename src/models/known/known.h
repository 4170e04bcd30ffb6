#pragma once
#include "models/family.h"

namespace gesso {

// One function and one file (known/NAME.cpp) a family; registry.cpp lists them.
const Family& anima_family();
const Family& animatediff_family();
const Family& chatglm_family();
const Family& chroma_family();
const Family& clip_family();
const Family& clip_vision_family();
const Family& clip_xlm_roberta_family();
const Family& esrgan_family();
const Family& flux1_family();
const Family& flux2_family();
const Family& gemma3_family();
const Family& hunyuan_video_family();
const Family& kl_vae_family();
const Family& krea2_family();
const Family& ltx2_family();
const Family& midas_family();
const Family& mistral3_family();
const Family& photomaker_family();
const Family& qwen25_vl_family();
const Family& qwen3_family();
const Family& qwen_image_family();
const Family& sd1_family();
const Family& sd2_family();
const Family& sd3_family();
const Family& sdxl_family();
const Family& siglip_family();
const Family& t5_family();
const Family& taesd_family();
const Family& umt5_family();
const Family& unclear_family();
const Family& wan_family();
const Family& z_image_family();

}  // namespace gesso
