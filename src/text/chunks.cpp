#include "text/chunks.h"

#include <algorithm>
#include <utility>

namespace gesso {
namespace {

constexpr int32_t kComma = 267;  // ",</w>"

size_t word_length(const ClipTokenizer& tokenizer, std::span<const int32_t> ids) {
  const auto last = std::find_if(ids.begin(), ids.end(), [&](int32_t id) { return tokenizer.ends_word(id); });
  return std::min<size_t>(last - ids.begin() + 1, ids.size());
}

}  // namespace

void ChunkBuilder::add_word(std::span<const int32_t> ids, float weight) {
  if (ids.empty()) return;
  const bool comma = ids.size() == 1 && ids[0] == kComma;
  const auto fits = [&] { return tokens_.size() + ids.size() <= PromptChunk::kRoom; };
  if (comma && !fits()) end_chunk();
  while (!fits() && ids.size() <= options_.longest_whole) end_full_chunk();
  for (const int32_t id : ids) {
    if (tokens_.size() == PromptChunk::kRoom) end_full_chunk();
    if (comma) last_comma_ = static_cast<int>(tokens_.size());
    tokens_.push_back({id, weight});
  }
}

// The comma counts from where the chunk would be full, not from where the next word starts: a long word does not
// bring commas nearer.
void ChunkBuilder::end_full_chunk() {
  std::vector<Token> moved;
  if (last_comma_ >= 0 && static_cast<int>(PromptChunk::kRoom) - last_comma_ <= options_.comma_backoff) {
    moved.assign(tokens_.begin() + last_comma_ + 1, tokens_.end());
    tokens_.resize(last_comma_ + 1);
  }
  end_chunk();
  tokens_ = std::move(moved);
}

void ChunkBuilder::end_chunk() {
  PromptChunk chunk;
  chunk.ids.fill(options_.pad);
  chunk.weights.fill(1);
  chunk.ids[0] = ClipTokenizer::kBos;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    chunk.ids[i + 1] = tokens_[i].id;
    chunk.weights[i + 1] = tokens_[i].weight;
  }
  chunk.tokens = static_cast<int>(tokens_.size());
  chunk.ids[tokens_.size() + 1] = ClipTokenizer::kEos;
  // not simply behind the tokens: the prompt may hold the word <|endoftext|>
  chunk.eos = static_cast<int>(std::find(chunk.ids.begin(), chunk.ids.end(), ClipTokenizer::kEos) - chunk.ids.begin());
  chunks_.push_back(chunk);
  tokens_.clear();
  last_comma_ = -1;
}

std::vector<PromptChunk> ChunkBuilder::finish() {
  if (!tokens_.empty() || chunks_.empty()) end_chunk();
  return std::exchange(chunks_, {});
}

namespace {

std::vector<PromptChunk> chunk_comfy(const ClipTokenizer& tokenizer, const Prompt& prompt, int32_t pad) {
  ChunkBuilder builder({.pad = pad, .comma_backoff = 0, .longest_whole = 7});
  for (const auto& section : prompt.sections)
    for (const auto& [text, weight] : section)
      for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
        builder.add_word(tokenizer.encode(std::string_view(text).substr(begin, end - begin)), weight);
        begin = end + 1;
      }
  return builder.finish();
}

}  // namespace

std::vector<PromptChunk> chunk_prompt(const ClipTokenizer& tokenizer, const Prompt& prompt,
                                      const ChunkOptions& options) {
  if (prompt.syntax == PromptSyntax::kComfyUi) return chunk_comfy(tokenizer, prompt, options.pad);
  ChunkBuilder builder(options);
  for (size_t i = 0; i < prompt.sections.size(); ++i) {
    if (i > 0) builder.end_chunk();
    for (const auto& segment : prompt.sections[i]) {
      const auto ids = tokenizer.encode(segment.text);
      for (std::span<const int32_t> rest = ids; !rest.empty();) {
        const size_t length = word_length(tokenizer, rest);
        builder.add_word(rest.first(length), segment.weight);
        rest = rest.subspan(length);
      }
    }
  }
  return builder.finish();
}

}  // namespace gesso
