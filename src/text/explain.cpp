#include "text/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "text/number.h"

namespace gesso {
namespace {

void explain_chunk(const ClipTokenizer& tokenizer, const PromptChunk& chunk, int32_t pad, std::string& text) {
  const size_t end = chunk.tokens + 1;  // EOS
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{} of {} tokens\n  place     id  weight  token\n", chunk.tokens, PromptChunk::kRoom);
  for (size_t i = 0; i <= end; ++i)
    fmt::format_to(out, "  {:>5}  {:>5}  {:>6}  {}\n", i, chunk.ids[i], print_number(chunk.weights[i]),
                   tokenizer.token(chunk.ids[i]));
  if (end + 1 < PromptChunk::kLength)
    fmt::format_to(out, "  {:>5}  {:>5}          padding to place {}\n", end + 1, pad, PromptChunk::kLength - 1);
}

}  // namespace

std::string explain_prompt(const ClipTokenizer& tokenizer, const Prompt& prompt, const ChunkOptions& options) {
  const auto chunks = chunk_prompt(tokenizer, prompt, options);
  std::string text;
  for (size_t i = 0; i < chunks.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "chunk {} of {}: ", i + 1, chunks.size());
    explain_chunk(tokenizer, chunks[i], options.pad, text);
  }
  for (const auto& lora : prompt.loras)
    fmt::format_to(std::back_inserter(text), "LoRA '{}': text encoder {}, model {}\n", lora.name,
                   print_number(lora.text_encoder_weight), print_number(lora.model_weight));
  return text;
}

std::string explain_prompt(const UnigramTokenizer& tokenizer, const Prompt& prompt, size_t room) {
  const auto [ids, weights] = weighted_ids(tokenizer, prompt);
  std::string text = fmt::format("{} of {} tokens\n  place     id  weight  token\n", ids.size(), room - 1);
  const size_t used = std::min(ids.size(), room - 1);
  const auto out = std::back_inserter(text);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i == used) fmt::format_to(out, "  from here on the prompt is not used\n");
    fmt::format_to(out, "  {:>5}  {:>5}  {:>6}  {}\n", i, ids[i], print_number(weights[i]), tokenizer.piece(ids[i]));
  }
  return text;
}

WeightedIds weighted_ids(const UnigramTokenizer& tokenizer, const Prompt& prompt) {
  WeightedIds result;
  for (const auto& section : prompt.sections)
    for (const WeightedSegment& segment : section) {
      const std::vector<int32_t> more = tokenizer.encode(segment.text);
      result.ids.insert(result.ids.end(), more.begin(), more.end());
      result.weights.resize(result.ids.size(), segment.weight);
    }
  return result;
}

}  // namespace gesso
