#include "text/explain.h"

#include <fmt/format.h>

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

std::string explain_prompt(const ClipTokenizer& tokenizer, std::string_view prompt, const ChunkOptions& options) {
  const Prompt parsed = parse_prompt(prompt);
  const auto chunks = chunk_prompt(tokenizer, parsed, options);
  std::string text;
  for (size_t i = 0; i < chunks.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "chunk {} of {}: ", i + 1, chunks.size());
    explain_chunk(tokenizer, chunks[i], options.pad, text);
  }
  for (const auto& lora : parsed.loras)
    fmt::format_to(std::back_inserter(text), "LoRA '{}': text encoder {}, model {}\n", lora.name,
                   print_number(lora.text_encoder_weight), print_number(lora.model_weight));
  return text;
}

}  // namespace gesso
