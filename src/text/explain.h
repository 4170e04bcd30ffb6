#pragma once
#include <string>

#include "text/chunks.h"
#include "text/unigram_tokenizer.h"

namespace gesso {

/// How a prompt is read, for a person: one line a token with its place in the chunk, id, weight and spelling in the
/// vocabulary (see ClipTokenizer::token), chunk by chunk, and the LoRA tags.
std::string explain_prompt(const ClipTokenizer& tokenizer, const Prompt& prompt, const ChunkOptions& options = {});

/// The same for an encoder that sees `room` tokens at once, the end token among them.
std::string explain_prompt(const UnigramTokenizer& tokenizer, const Prompt& prompt, size_t room);

/// Ids and weights of a prompt's segments one after another, without the end token.
struct WeightedIds {
  std::vector<int32_t> ids;
  std::vector<float> weights;
};
WeightedIds weighted_ids(const UnigramTokenizer& tokenizer, const Prompt& prompt);

}  // namespace gesso
