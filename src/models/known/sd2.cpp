#include "models/known/known.h"
#include "models/names/unet.h"
#include "models/stable_diffusion.h"

namespace gesso {
namespace {

constexpr std::string_view kFirst = "input_blocks.0.0.weight";

/// A latent-diffusion UNet whose transformers begin with a linear layer. Whether it predicts noise or velocity, names
/// do not say.
Kind unet() {
  return {
      .role = Role::kDiffusionModel,
      .network = &unet_network(),
      .has = {{kFirst}, {"input_blocks.#.1.proj_in.weight", {kAny, kAny}}, {"output_blocks.#.0.in_layers.0.weight"}},
      .lacks = {"label_emb.0.0.weight"},
      .variants = {{"inpainting", {{kFirst, {kAny, 9, kAny, kAny}}}},
                   {"depth", {{kFirst, {kAny, 5, kAny, kAny}}}, {}, false},
                   {"x4 upscaler", {{kFirst, {kAny, 7, kAny, kAny}}}, {}, false},
                   {"without middle block", {}, {"middle_block.0.in_layers.0.weight"}, false},
                   {"without middle attention", {}, {"middle_block.1.norm.weight"}, false}},
      .supported = true};
}

/// The same with a picture's embedding added to the time: unCLIP. It has attention at full resolution.
Kind unclip() {
  return {.role = Role::kDiffusionModel,
          .network = &unet_network(),
          .has = {{kFirst},
                  {"label_emb.0.0.weight"},
                  {"input_blocks.1.1.proj_in.weight", {kAny, kAny}},
                  {"output_blocks.#.0.in_layers.0.weight"}},
          .variants = {{"unCLIP"}}};
}

std::unique_ptr<LatentDiffusion> make(Components components) {
  return make_stable_diffusion(std::move(components), {.encoders = {{.role = "clip_h"}},
                                                       .velocity_by_spread = true,
                                                       .defaults = {.width = 512, .height = 512, .clip_skip = 2}});
}

}  // namespace

const Family& sd2_family() {
  static const Family family{
      .id = "sd2",
      .title = "Stable Diffusion 2.x",
      .needs = {Role::kClipH, Role::kVae},
      .kinds =
          {
              unet(),
              unclip(),
              {.role = Role::kControlNet,
               .scheme = "LDM",
               .has = {{"input_hint_block.0.weight"},
                       {"zero_convs.0.0.weight"},
                       {"input_blocks.1.1.proj_in.weight", {kAny, kAny}}},
               .lacks = {"label_emb.0.0.weight"},
               .owns = {"input_blocks", "input_hint_block", "middle_block", "middle_block_out", "time_embed",
                        "zero_convs"}},
              {.role = Role::kEmbedding,
               .scheme = "textual inversion",
               .any = {{"emb_params", {kAny, 1024}}, {"string_to_param.*", {kAny, 1024}}},
               .owns = {"emb_params", "string_to_param"}},
              {.role = Role::kLora,
               .any = {{"down_blocks_#_attentions_#_transformer_blocks_#_attn2_to_k", {kAny, 1024}},
                       {"input_blocks_#_#_transformer_blocks_#_attn2_to_k", {kAny, 1024}},
                       {"te:text_model_encoder_layers_#_self_attn_q_proj", {kAny, 1024}}}},
          },
      .make = make,
      .metadata_names = {"sd_v2", "sd2", "stable-diffusion-v2"},
  };
  return family;
}

}  // namespace gesso
