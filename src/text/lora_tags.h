#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/prompt.h"

namespace gesso {

/// Takes the LoRA tags out of a prompt's text and returns them in order. Throws kUsage for a tag without an end, a
/// name, or a number where its weights are.
std::vector<LoraTag> extract_lora_tags(std::string& text);

/// Whether `text` begins as a LoRA tag does, up to its first colon.
bool starts_lora_tag(std::string_view text);

}  // namespace gesso
