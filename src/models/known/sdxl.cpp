#include "models/known/known.h"
#include "models/names/unet.h"
#include "models/stable_diffusion.h"

namespace gesso {
namespace {

constexpr std::string_view kFirst = "input_blocks.0.0.weight";

/// A latent-diffusion UNet with a vector (pooled text, sizes) added to the time and no attention at full resolution.
Kind unet() {
  return {.role = Role::kDiffusionModel,
          .network = &unet_network(),
          .has = {{kFirst},
                  {"label_emb.0.0.weight"},
                  {"input_blocks.#.1.proj_in.weight", {kAny, kAny}},
                  {"output_blocks.#.0.in_layers.0.weight"}},
          .lacks = {"input_blocks.1.1.proj_in.weight"},
          .variants = {{"refiner", {{"label_emb.0.0.weight", {kAny, 2560}}}, {}, false},
                       {"SSD-1B",
                        {{"output_blocks.3.1.transformer_blocks.1.norm1.weight"}},
                        {"middle_block.1.norm.weight"}},
                       {"Vega", {}, {"middle_block.1.norm.weight"}},
                       {"inpainting", {{kFirst, {kAny, 9, kAny, kAny}}}},
                       {"instruct-pix2pix", {{kFirst, {kAny, 8, kAny, kAny}}}, {}, false}},
          .supported = true};
}

std::unique_ptr<LatentDiffusion> make(Components components) {
  return make_stable_diffusion(
      std::move(components),
      {.encoders = {{.role = "clip_l", .quick_gelu = true, .final_norm = false, .pad = ClipTokenizer::kEos},
                    {.role = "clip_g", .final_norm = false, .heads_key = "clip_g_heads"}},
       .size_conditioning = true,
       .latent_factor = 0.13025f,
       .projection = kl_f8_xl_projection,
       .defaults = {.width = 1024, .height = 1024, .clip_skip = 2}});
}

}  // namespace

const Family& sdxl_family() {
  static const Family family{
      .id = "sdxl",
      .title = "Stable Diffusion XL",
      .needs = {Role::kClipL, Role::kClipG, Role::kVae},
      .kinds =
          {
              unet(),
              {.role = Role::kControlNet,
               .scheme = "diffusers",
               .has = {{"controlnet_cond_embedding.conv_in.weight"},
                       {"controlnet_down_blocks.0.weight"},
                       {"add_embedding.linear_1.weight"}},
               .owns = {"conv_in", "time_embedding", "add_embedding", "control_add_embedding", "down_blocks",
                        "mid_block", "controlnet_cond_embedding", "controlnet_down_blocks", "controlnet_mid_block",
                        "task_embedding", "spatial_ch_projs", "transformer_layes"},
               .variants = {{"union", {{"task_embedding"}}}}},
              {.role = Role::kIpAdapter,
               .scheme = "IP-Adapter",
               .has = {{"ip_adapter.#.to_k_ip.weight", {kAny, 2048}}},
               .owns = {"image_proj", "ip_adapter"}},
              {.role = Role::kEmbedding,
               .scheme = "textual inversion",
               .has = {{"clip_g", {kAny, 1280}}, {"clip_l", {kAny, 768}}},
               .owns = {"clip_g", "clip_l"}},
              {.role = Role::kLora,
               .any = {{"down_blocks_#_attentions_#_transformer_blocks_#_attn2_to_k", {kAny, 2048}},
                       {"input_blocks_#_#_transformer_blocks_#_attn2_to_k", {kAny, 2048}},
                       {"down_blocks_#_attentions_#_transformer_blocks_+_attn#_to_q"},
                       {"input_blocks_#_#_transformer_blocks_+_attn#_to_q"},
                       {"te2:text_model_encoder_layers_#_self_attn_q_proj", {kAny, 1280}}}},
          },
      .make = make,
      .metadata_names = {"sdxl", "stable-diffusion-xl"},
  };
  return family;
}

}  // namespace gesso
