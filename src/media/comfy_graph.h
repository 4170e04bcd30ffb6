#pragma once
#include "base/json.h"
#include "media/parameters.h"

namespace gesso {

/// What the first sampler of a ComfyUI graph (the API format: {"3": {"class_type": "KSampler", "inputs": {...}}, ...})
/// is fed: prompts, steps, sampler, seed, size, model. Inputs are values or links, ["node", output], which are followed
/// through nodes of any kind. What is not there, or not as expected, is absent.
Parameters read_comfy_graph(const Json& graph);

/// A JSON number as people write it: 20, 7.5; a text as it is; empty for anything else.
std::string plain_text(const Json& value);

}  // namespace gesso
