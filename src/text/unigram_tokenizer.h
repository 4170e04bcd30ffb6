#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/charsmap.h"
#include "text/sentencepiece_model.h"

namespace gesso {

/// The tokenizer of T5: a unigram language model (Kudo 2018) over SentencePiece's vocabulary, with the ids that
/// transformers' T5Tokenizer gives. Text is normalised, split at white space, and each word, with U+2581 before it, cut
/// into the pieces whose scores add to the most; characters that no piece has are the unknown piece, a run of them
/// once.
class UnigramTokenizer {
 public:
  static constexpr int32_t kPad = 0, kEos = 1;  ///< of T5

  explicit UnigramTokenizer(SentencePieceModel model);

  /// Ids of any bytes, without the end token. Names of control pieces ("</s>", "<extra_id_0>") in the text are these.
  std::vector<int32_t> encode(std::string_view text) const;
  /// The piece of an id.
  const std::string& piece(int32_t id) const { return model_.pieces[static_cast<size_t>(id)].text; }
  int32_t size() const { return static_cast<int32_t>(model_.pieces.size()); }

 private:
  void add_text(std::string_view text, std::vector<int32_t>& ids) const;
  void add_word(std::string_view word, std::vector<int32_t>& ids) const;

  SentencePieceModel model_;
  Charsmap charsmap_;
  std::vector<int32_t> sorted_;   // ids by piece, bytewise
  std::vector<int32_t> control_;  // ids of pieces in angle brackets with the score 0
  double unknown_score_ = 0;
};

}  // namespace gesso
