#include "models/known/known.h"

namespace gesso {

const Family& ltx2_family() {
  static const Family family{
      .id = "ltx2",
      .title = "LTX-2",
      .needs = {Role::kLanguageModel, Role::kAdapter, Role::kVae, Role::kAudioVae, Role::kVocoder},
      .kinds =
          {
              // Its two halves lie under different prefixes of one file, so the names are the whole ones.
              {.role = Role::kAdapter,
               .scheme = "LTX",
               .any = {{"model.diffusion_model.video_embeddings_connector.learnable_registers"}},
               .owns = {"text_embedding_projection", "model.diffusion_model.video_embeddings_connector",
                        "model.diffusion_model.audio_embeddings_connector"},
               .variants = {{"text connectors, 2.3", {{"text_embedding_projection.video_aggregate_embed.weight"}}},
                            {"text connectors"}}},
              {.role = Role::kDiffusionModel,
               .scheme = "LTX",
               .has = {{"patchify_proj.weight"},
                       {"audio_patchify_proj.weight"},
                       {"transformer_blocks.#.attn1.to_q.weight"}},
               .owns = {"patchify_proj", "adaln_single", "caption_projection", "scale_shift_table", "proj_out",
                        "audio_patchify_proj", "audio_adaln_single", "audio_caption_projection",
                        "audio_scale_shift_table", "audio_proj_out", "transformer_blocks",
                        "av_ca_video_scale_shift_adaln_single", "av_ca_audio_scale_shift_adaln_single",
                        "av_ca_a2v_gate_adaln_single", "av_ca_v2a_gate_adaln_single", "prompt_adaln_single",
                        "audio_prompt_adaln_single"},
               .variants = {{"2.3 22B", {{"prompt_adaln_single.linear.weight"}}}, {"19B"}}},
              {.role = Role::kVae,
               .scheme = "LTX",
               .has = {{"per_channel_statistics.std-of-means"}},
               .any = {{"decoder.conv_in.conv.weight", {kAny, kAny, 3, 3, 3}},
                       {"encoder.conv_in.conv.weight", {kAny, kAny, 3, 3, 3}}},
               .owns = {"encoder", "decoder", "per_channel_statistics"},
               .variants = {{"encoder only", {}, {"decoder.conv_in.conv.weight"}},
                            {"decoder only", {}, {"encoder.conv_in.conv.weight"}}}},
              {.role = Role::kAudioVae,
               .scheme = "LTX",
               .has = {{"per_channel_statistics.std-of-means"}},
               .any = {{"decoder.conv_in.conv.weight", {kAny, kAny, 3, 3}},
                       {"encoder.conv_in.conv.weight", {kAny, kAny, 3, 3}}},
               .owns = {"encoder", "decoder", "per_channel_statistics"},
               .variants = {{"encoder only", {}, {"decoder.conv_in.conv.weight"}},
                            {"decoder only", {}, {"encoder.conv_in.conv.weight"}}}},
              {.role = Role::kVocoder,
               .scheme = "LTX",
               .has = {{"vocoder.conv_pre.weight"}, {"vocoder.ups.0.weight"}},
               .owns = {"vocoder"}},
              {.role = Role::kLatentUpscaler,
               .scheme = "LTX",
               .has = {{"initial_conv.weight"}, {"post_upsample_res_blocks.0.conv1.weight"}, {"final_conv.weight"}},
               .owns = {"initial_conv", "initial_norm", "res_blocks", "post_upsample_res_blocks", "upsampler",
                        "final_conv"},
               .variants = {{"spatial x2", {{"upsampler.0.weight", {kAny, kAny, 3, 3}}}}}},
          },
  };
  return family;
}

}  // namespace gesso
