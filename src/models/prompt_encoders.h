#pragma once
#include <string>

#include "models/latent_diffusion.h"
#include "text/chunks.h"
#include "text/clip_encoder.h"
#include "text/t5_encoder.h"
#include "text/unigram_tokenizer.h"

namespace gesso {

/// A CLIP text encoder and how a family uses it.
class ClipText {
 public:
  struct Traits {
    const char* role;
    bool quick_gelu = false;
    bool final_norm = true;  ///< of the hidden state
    int32_t pad = 0;
    const char* heads_key = "clip_heads";
  };
  struct States {
    Tensor hidden;  ///< f32 [1, tokens, width], emphasised
    Tensor pooled;  ///< [1, pooled width] of the first chunk, or empty
  };
  /// How much of a prompt is read.
  enum class Length { kAllChunks, kFirstChunk };

  ClipText(WeightStore& store, const Traits& traits);

  int64_t width() const { return encoder_.width(); }
  int64_t pooled_width() const { return encoder_.pooled_width(); }
  States encode(const ClipTokenizer& tokenizer, Device& device, DType compute, const Prompt& prompt, int clip_skip,
                bool pooled, Length length = Length::kAllChunks) const;
  /// The encoder's role and, below it, how it reads the prompt; for a person.
  std::string explain(const ClipTokenizer& tokenizer, const Prompt& prompt) const;
  TextLength measure(const ClipTokenizer& tokenizer, const Prompt& prompt) const;

 private:
  Traits traits_;
  ClipEncoder encoder_;
};

/// The T5 encoder with its tokenizer.
class T5Text {
 public:
  explicit T5Text(WeightStore& store);

  int64_t width() const { return encoder_.width(); }
  /// The prompt as exactly `tokens` tokens, the last of its own the end token, padded -> f32 [1, tokens, width],
  /// emphasised. What does not fit is cut, and `notice` says so.
  Tensor encode(Device& device, DType compute, const Prompt& prompt, size_t tokens, std::string& notice) const;
  /// As ClipText::explain.
  std::string explain(const Prompt& prompt, size_t tokens) const;
  TextLength measure(const Prompt& prompt, size_t tokens) const;

 private:
  UnigramTokenizer tokenizer_;
  T5Encoder encoder_;
};

}  // namespace gesso
