#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gesso {

/// What a SentencePiece model file (spiece.model: sentencepiece_model.proto) says about a unigram vocabulary.
struct SentencePieceModel {
  struct Piece {
    std::string text;
    float score = 0;
  };
  std::vector<Piece> pieces;  ///< the index is the id
  int32_t unknown = 0;        ///< id of the piece that stands for anything else
  std::string charsmap;       ///< the compiled normalisation rules, see Charsmap; may be empty
};

/// Reads the protocol buffer. Throws kBadFile, naming `what`, when it is damaged, has no pieces or no unknown piece.
SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& what);

/// The vocabulary of T5 (32,000 pieces) that is built in, with the 100 sentinels <extra_id_99> to <extra_id_0> that T5
/// puts behind it.
SentencePieceModel t5_vocabulary();

}  // namespace gesso
