#include "models/known/known.h"

namespace gesso {
namespace {

constexpr std::string_view kPatch = "patch_embedding.weight";

std::vector<Probe> channels(int64_t in) {
  return {{kPatch, {kAny, in, 1, 2, 2}}};
}

Kind transformer() {
  return {.role = Role::kDiffusionModel,
          .scheme = "Wan",
          .has = {{kPatch}, {"head.modulation"}, {"blocks.#.self_attn.q.weight"}},
          .owns = {"patch_embedding", "text_embedding", "time_embedding", "time_projection", "head", "blocks",
                   "img_emb", "control_adapter", "ref_conv", "vace_patch_embedding", "vace_blocks"},
          .variants = {{"VACE", {{"vace_patch_embedding.weight"}}},
                       {"2.1 first and last frame", {{"img_emb.emb_pos"}}},
                       {"2.1 Fun Control-Camera", {{"img_emb.proj.0.weight"}, {"control_adapter.conv.weight"}}},
                       {"2.1 Fun Control", {{"img_emb.proj.0.weight"}, {kPatch, {kAny, 48, 1, 2, 2}}}},
                       {"2.1 image to video", {{"img_emb.proj.0.weight"}}},
                       {"2.2 Fun Control-Camera", {{"control_adapter.conv.weight"}}},
                       {"2.2 Fun Control", channels(52)},
                       {"2.2 image to video", channels(36)},
                       {"2.2 5B", channels(48)},
                       {"text to video 1.3B", {{kPatch, {1536, 16, 1, 2, 2}}}},
                       {"text to video 14B", channels(16)}}};
}

}  // namespace

const Family& wan_family() {
  static const Family family{
      .id = "wan",
      .title = "Wan",
      .needs = {Role::kT5, Role::kVae},
      .kinds =
          {
              transformer(),
              {.role = Role::kDiffusionModel,
               .scheme = "diffusers",
               .has = {{kPatch}, {"condition_embedder.time_proj.weight"}, {"blocks.#.attn1.to_q.weight"}},
               .owns = {"patch_embedding", "condition_embedder", "blocks", "scale_shift_table", "proj_out"},
               .variants = {{"text to video 1.3B", {{kPatch, {1536, 16, 1, 2, 2}}}},
                            {"text to video 14B", channels(16)}}},
              {.role = Role::kVae,
               .scheme = "Wan",
               .has = {{"decoder.middle.0.residual.0.gamma"}, {"decoder.head.0.gamma"}, {"conv2.weight"}},
               .owns = {"encoder", "decoder", "conv1", "conv2"},
               .variants = {{"2.1", {{"conv2.weight", {16, 16, 1, 1, 1}}}},
                            {"2.2 5B", {{"conv2.weight", {48, 48, 1, 1, 1}}}}}},
              {.role = Role::kLora,
               .any = {{"blocks_#_self_attn_q"},
                       {"blocks_#_cross_attn_k"},
                       {"blocks_#_cross_attn_k_img"},
                       {"blocks_#_ffn_0"}}},
          },
  };
  return family;
}

}  // namespace gesso
