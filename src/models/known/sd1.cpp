#include "models/known/known.h"
#include "models/names/unet.h"
#include "models/stable_diffusion.h"

namespace gesso {
namespace {

constexpr std::string_view kContext = "input_blocks.#.1.transformer_blocks.#.attn2.to_k.weight";
constexpr std::string_view kFirst = "input_blocks.0.0.weight";

/// A latent-diffusion UNet whose transformers begin with a convolution: width, depth and context may be any.
Kind unet() {
  return {.role = Role::kDiffusionModel,
          .network = &unet_network(),
          .has = {{kFirst}, {kContext}, {"output_blocks.#.0.in_layers.0.weight"}},
          .any = {{"input_blocks.#.1.proj_in.weight", {kAny, kAny, kAny, kAny}}, {kContext, {kAny, 768}}},
          .lacks = {"label_emb.0.0.weight"},
          .variants = {{"inpainting", {{kFirst, {kAny, 9, kAny, kAny}}}},
                       {"instruct-pix2pix", {{kFirst, {kAny, 8, kAny, kAny}}}, {}, false},
                       {"without middle block", {}, {"middle_block.0.in_layers.0.weight"}, false},
                       {"without middle attention", {}, {"middle_block.1.norm.weight"}, false}},
          .supported = true};
}

std::unique_ptr<LatentDiffusion> make(Components components) {
  return make_stable_diffusion(std::move(components),
                               {.encoders = {{.role = "clip_l", .quick_gelu = true, .pad = ClipTokenizer::kEos}},
                                .fixed_heads = 8,
                                .defaults = {.width = 512, .height = 512}});
}

}  // namespace

const Family& sd1_family() {
  static const Family family{
      .id = "sd1",
      .title = "Stable Diffusion 1.x",
      .needs = {Role::kClipL, Role::kVae},
      .kinds =
          {
              unet(),
              {.role = Role::kDiffusionModel,
               .scheme = "LDM EMA",
               .has = {{"input_blocks00weight"},
                       {"middle_block1proj_inweight", {kAny, kAny, kAny, kAny}},
                       {"out0weight"}},
               .owns = {"input_blocks*", "middle_block*", "output_blocks*", "time_embed*", "out*"},
               .variants = {{"inpainting, moving average", {{"input_blocks00weight", {kAny, 9, 3, 3}}}},
                            {"instruct-pix2pix, moving average", {{"input_blocks00weight", {kAny, 8, 3, 3}}}},
                            {"moving average"}}},
              {.role = Role::kControlNet,
               .scheme = "LDM",
               .has = {{"input_hint_block.0.weight"},
                       {"zero_convs.0.0.weight"},
                       {"input_blocks.#.1.proj_in.weight", {kAny, kAny, kAny, kAny}}},
               .lacks = {"label_emb.0.0.weight"},
               .owns = {"input_blocks", "input_hint_block", "middle_block", "middle_block_out", "time_embed",
                        "zero_convs"}},
              {.role = Role::kControlNet,
               .scheme = "diffusers",
               .has = {{"controlnet_cond_embedding.conv_in.weight"},
                       {"controlnet_down_blocks.0.weight"},
                       {"down_blocks.#.attentions.#.proj_in.weight", {kAny, kAny, kAny, kAny}}},
               .lacks = {"add_embedding.linear_1.weight"},
               .owns = {"conv_in", "time_embedding", "down_blocks", "mid_block", "controlnet_cond_embedding",
                        "controlnet_down_blocks", "controlnet_mid_block"}},
              {.role = Role::kIpAdapter,
               .scheme = "IP-Adapter",
               .has = {{"ip_adapter.#.to_k_ip.weight", {kAny, 768}}},
               .owns = {"image_proj", "ip_adapter"}},
              {.role = Role::kEmbedding,
               .scheme = "textual inversion",
               .any = {{"emb_params", {kAny, 768}}, {"string_to_param.*", {kAny, 768}}},
               .owns = {"emb_params", "string_to_param"}},
              {.role = Role::kLora,
               .any = {{"down_blocks_#_attentions_#_transformer_blocks_#_attn2_to_k", {kAny, 768}},
                       {"input_blocks_#_#_transformer_blocks_#_attn2_to_k", {kAny, 768}},
                       {"down_blocks_3_resnets_#_conv1"},
                       {"down_blocks_3_resnets_#_time_emb_proj"},
                       {"te:text_model_encoder_layers_#_self_attn_q_proj", {kAny, 768}},
                       {"te:#", {kAny, 768}}},
               .owns = {"<s#>"}},
          },
      .make = make,
      .metadata_names = {"sd_v1", "sd1", "stable-diffusion-v1"},
  };
  return family;
}

}  // namespace gesso
