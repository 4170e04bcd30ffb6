#include "models/names/clip.h"

#include "models/known/known.h"

namespace gesso {
namespace {

constexpr std::string_view kTokens = "text_model.embeddings.token_embedding.weight";

Kind encoder(Role role, std::vector<std::string_view> under, std::vector<int64_t> tokens) {
  return {.role = role,
          .network = &clip_network(),
          .under = std::move(under),
          .has = {{kTokens, std::move(tokens)}, {"text_model.encoder.layers.#.self_attn.q_proj.weight"}},
          .supported = true};
}

}  // namespace

// Which of the three a file is, its width says; for other widths (small models), where it lies in a checkpoint.
const Family& clip_family() {
  static const Family family{
      .id = "clip",
      .title = "CLIP",
      .kinds = {
          encoder(Role::kClipL, {}, {kAny, 768}), encoder(Role::kClipH, {}, {kAny, 1024}),
          encoder(Role::kClipG, {}, {kAny, 1280}),
          encoder(Role::kClipG,
                  {"conditioner.embedders.1.", "text_encoders.clip_g.", "text_encoder_2.", "te2.", "clip_g."}, {}),
          encoder(Role::kClipH, {"cond_stage_model.model."}, {}), encoder(Role::kClipL, {}, {})}};
  return family;
}

}  // namespace gesso
