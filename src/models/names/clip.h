#pragma once
#include "models/names/network.h"

namespace gesso {

/// The text tower of CLIP (Radford et al. 2021). Our names are those of Hugging Face transformers
/// ("text_model.encoder.layers.0.self_attn.q_proj.weight", "text_projection.weight"). Other namings: the same without
/// "text_model.", and OpenCLIP, which fuses query, key and value and stores the projection transposed.
const Network& clip_network();

}  // namespace gesso
