#include "models/flux_diffusion.h"
#include "models/known/known.h"
#include "models/names/flux.h"

namespace gesso {
namespace {

const std::vector<std::string_view> kBflNames = {"double_blocks", "single_blocks", "img_in",      "txt_in",
                                                 "time_in",       "vector_in",     "guidance_in", "final_layer"};
const std::vector<std::string_view> kDiffusersNames = {"transformer_blocks",
                                                       "single_transformer_blocks",
                                                       "x_embedder",
                                                       "context_embedder",
                                                       "time_text_embed",
                                                       "norm_out",
                                                       "proj_out"};

std::vector<std::string_view> with(std::vector<std::string_view> names, std::initializer_list<std::string_view> more) {
  names.insert(names.end(), more);
  return names;
}

/// Of a transformer, by how wide its tokens are and whether it is told a guidance scale; only
/// schnell and dev take nothing but text.
std::vector<Variant> variants(std::string_view tokens, std::string_view guidance) {
  return {{"Fill", {{tokens, {kAny, 384}}}, {}, false},
          {"Canny or Depth", {{tokens, {kAny, 128}}}, {}, false},
          {"Flex.2", {{tokens, {kAny, 196}}}, {}, false},
          {"schnell", {}, {guidance}},
          {"dev"}};
}

std::vector<Kind> transformers() {
  return {{.role = Role::kDiffusionModel,
           .network = &flux_network(),
           .has = {{"img_in.weight"},
                   {"vector_in.in_layer.weight"},
                   {"double_blocks.#.img_attn.q.weight"},
                   {"single_blocks.#.mlp.weight"}},
           .variants = variants("img_in.weight", "guidance_in.in_layer.weight"),
           .supported = true}};
}

std::vector<Kind> control_nets() {
  return {
      {.role = Role::kControlNet,
       .scheme = "diffusers",
       .has = {{"controlnet_x_embedder.weight"},
               {"controlnet_blocks.0.weight"},
               {"transformer_blocks.#.attn.add_k_proj.weight"}},
       .owns = with(kDiffusersNames, {"controlnet_x_embedder", "controlnet_blocks", "controlnet_single_blocks",
                                      "controlnet_mode_embedder"}),
       .variants = {{"union", {{"controlnet_mode_embedder.weight"}}}}},
      {.role = Role::kControlNet,
       .scheme = "BFL",
       .has = {{"controlnet_blocks.0.weight"}, {"double_blocks.#.img_attn.qkv.weight"}, {"input_hint_block.0.weight"}},
       .owns = with(kBflNames, {"controlnet_blocks", "input_hint_block", "pos_embed_input"})},
  };
}

std::vector<Kind> adapters() {
  return {
      {.role = Role::kIpAdapter,
       .scheme = "IP-Adapter",
       .has = {{"ip_adapter.#.to_k_ip.weight", {kAny, 4096}}},
       .owns = {"image_proj", "ip_adapter"}},
      {.role = Role::kIpAdapter,
       .scheme = "XLabs",
       .has = {{"ip_adapter_proj_model.proj.weight"},
               {"double_blocks.#.processor.ip_adapter_double_stream_k_proj.weight"}},
       .owns = {"double_blocks", "ip_adapter_proj_model"}},
      {.role = Role::kAdapter,
       .scheme = "diffusers",
       .has = {{"redux_up.weight"}, {"redux_down.weight"}},
       .owns = {"redux_up", "redux_down"},
       .variants = {{"Redux"}}},
      {.role = Role::kLora,
       .any = {{"double_blocks_#_img_attn_qkv"},
               {"double_blocks_#_img_attn_proj"},
               {"double_blocks_#_qkv"},
               {"single_blocks_#_linear1"},
               {"single_transformer_blocks_#_attn_to_k"},
               {"single_transformer_blocks_#_proj_mlp"},
               {"transformer_blocks_#_ff_context_net_0_proj"},
               {"transformer_blocks_#_norm1_context_linear"}},
       .owns = kBflNames},
  };
}

std::vector<Kind> kinds() {
  std::vector<Kind> all = control_nets();  // first, for they have the blocks of a transformer too
  for (auto& kind : transformers()) all.push_back(std::move(kind));
  for (auto& kind : adapters()) all.push_back(std::move(kind));
  return all;
}

}  // namespace

const Family& flux1_family() {
  static const Family family{.id = "flux1",
                             .title = "FLUX.1",
                             .needs = {Role::kClipL, Role::kT5, Role::kVae},
                             .kinds = kinds(),
                             .make = make_flux,
                             .metadata_names = {"flux1", "flux-1"}};
  return family;
}

}  // namespace gesso
