#include "models/known/known.h"

namespace gesso {

const Family& z_image_family() {
  static const Family family{
      .id = "z_image",
      .title = "Z-Image",
      .needs = {Role::kLanguageModel, Role::kVae},
      .kinds =
          {
              {.role = Role::kDiffusionModel,
               .scheme = "Lumina",
               .has = {{"cap_embedder.0.weight"}, {"cap_pad_token"}, {"noise_refiner.#.attention.qkv.weight"}},
               .owns = {"layers", "noise_refiner", "context_refiner", "cap_embedder", "cap_pad_token", "x_pad_token",
                        "x_embedder", "t_embedder", "final_layer"}},
              {.role = Role::kDiffusionModel,
               .scheme = "diffusers",
               .has = {{"all_x_embedder.2-1.weight"}, {"cap_pad_token"}, {"noise_refiner.#.attention.to_q.weight"}},
               .owns = {"layers", "noise_refiner", "context_refiner", "siglip_refiner", "siglip_embedder",
                        "siglip_pad_token", "cap_embedder", "cap_pad_token", "x_pad_token", "all_x_embedder",
                        "all_final_layer", "t_embedder"},
               .variants = {{"Omni", {{"siglip_embedder.0.weight"}}}}},
              {.role = Role::kControlNet,
               .scheme = "VideoX-Fun",
               .has = {{"control_layers.#.after_proj.weight"}, {"control_all_x_embedder.2-1.weight"}},
               .owns = {"control_layers", "control_noise_refiner", "control_all_x_embedder"},
               .variants = {{"union"}}},
              {.role = Role::kLora,
               .any = {{"layers_#_attention_to_q"}, {"layers_#_attention_qkv"}, {"noise_refiner_#_attention_to_q"}}},
          },
  };
  return family;
}

}  // namespace gesso
