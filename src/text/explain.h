#pragma once
#include <string>
#include <string_view>

#include "text/chunks.h"

namespace gesso {

/// How a prompt is read, for a person: one line a token with its place in the chunk, id, weight and spelling in the
/// vocabulary (see ClipTokenizer::token), chunk by chunk, and the LoRA tags. Throws as parse_prompt does.
std::string explain_prompt(const ClipTokenizer& tokenizer, std::string_view prompt, const ChunkOptions& options = {});

}  // namespace gesso
