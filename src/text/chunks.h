#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "text/clip_tokenizer.h"
#include "text/prompt.h"

namespace gesso {

/// What a CLIP text encoder sees at once: BOS, up to 75 tokens, EOS, padding.
struct PromptChunk {
  static constexpr size_t kLength = 77;
  static constexpr size_t kRoom = kLength - 2;  ///< tokens of the prompt in one chunk

  std::array<int32_t, kLength> ids;
  std::array<float, kLength> weights;  ///< 1 for BOS, EOS and padding
  int tokens;                          ///< how many of the prompt, at places 1 to tokens; EOS follows
  int eos;                             ///< index of the first EOS: where the pooled output is taken
};

struct ChunkOptions {
  int32_t pad = ClipTokenizer::kEos;          ///< CLIP-L pads with EOS, OpenCLIP with 0
  int comma_backoff = 20;                     ///< see chunk_prompt; 0 turns it off
  size_t longest_whole = PromptChunk::kRoom;  ///< words of more tokens are cut where a chunk is full
};

/// Cuts a prompt into chunks as the AUTOMATIC1111 web UI does: segments are tokenised one by one and fill chunks in
/// order. Where the next token does not fit and a comma is among the last `comma_backoff` tokens, what follows the
/// comma moves to the next chunk. Otherwise the cut is before the word that does not fit (unlike there, where words
/// are cut); a word of more than 75 tokens alone is cut where a chunk is full. BREAK ends a chunk, also an empty one,
/// except that none follows a BREAK at the end. The empty prompt is one chunk.
///
/// A prompt in ComfyUI's syntax is cut as there, whatever the options say of it: before the word that does not fit, a
/// word being what blanks and line ends separate; one of eight tokens and more is cut where a chunk is full.
std::vector<PromptChunk> chunk_prompt(const ClipTokenizer& tokenizer, const Prompt& prompt,
                                      const ChunkOptions& options = {});

/// Fills chunks word by word; chunk_prompt is this over a prompt's words. Ids need not be in the vocabulary, so a
/// caller can let ids of its own stand for vectors, and a run of them for a word that must not be cut.
class ChunkBuilder {
 public:
  explicit ChunkBuilder(const ChunkOptions& options) : options_(options) {}

  void add_word(std::span<const int32_t> ids, float weight);
  /// Ends the chunk that is being filled, also when it is empty.
  void end_chunk();
  /// The chunks, at least one; the builder is empty after it.
  std::vector<PromptChunk> finish();

 private:
  struct Token {
    int32_t id;
    float weight;
  };
  void end_full_chunk();

  ChunkOptions options_;
  std::vector<Token> tokens_;  // of the chunk that is being filled, at most kRoom
  int last_comma_ = -1;        // its index in tokens_
  std::vector<PromptChunk> chunks_;
};

}  // namespace gesso
