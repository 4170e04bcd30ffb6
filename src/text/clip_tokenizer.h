#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gesso {

/// The byte-pair tokenizer of CLIP (Radford et al. 2021) with its vocabulary of 49408 tokens, as CLIPTokenizerFast of
/// openai/clip-vit-large-patch14: NFC, runs of white space to one space, lower case, words (see clip_words), bytes
/// merged by rank within each word. OpenCLIP text encoders share it; they only pad with 0 instead of kEos.
/// Building one takes tens of milliseconds; it is immutable after that and may be used from any thread.
class ClipTokenizer {
 public:
  static constexpr int32_t kVocabulary = 49408;
  static constexpr int32_t kBos = 49406;  ///< <|startoftext|>
  static constexpr int32_t kEos = 49407;  ///< <|endoftext|>

  ClipTokenizer();

  /// The ids of `text`, without BOS and EOS around them; the words "<|startoftext|>" and "<|endoftext|>" in the text
  /// become kBos and kEos. Invalid UTF-8 reads as U+FFFD. n log n time, also for a single word of a megabyte. Throws
  /// kUsage above 256 MiB.
  std::vector<int32_t> encode(std::string_view text) const;

  /// How the vocabulary spells token `id`: "fox</w>" (one character a byte, "</w>" marks the end of a word). Throws
  /// kUsage outside [0, kVocabulary).
  std::string_view token(int32_t id) const;

  /// Whether the token is the last of its word. False for ids outside the vocabulary.
  bool ends_word(int32_t id) const;

 private:
  struct Pair {
    int32_t left, right;
  };
  struct Follower {
    int32_t left, right, merged;
  };
  struct Scratch;
  void index_merges();
  int32_t merge_of(int32_t left, int32_t right) const;
  void encode_word(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const;

  std::array<int32_t, 256> byte_ids_;    // id of each byte inside a word; + 256 at its end
  std::vector<std::string> tokens_;      // spelling by id
  std::vector<Pair> merges_;             // what makes each id from 512 on; lower ids merge first
  std::vector<Follower> followers_;      // the same sorted by left, then right
  std::vector<int32_t> first_follower_;  // by left id: where its followers start
};

/// The words of normalised text that are tokenised each by itself: the matches of
///   's|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+
/// Views into `text`.
std::vector<std::u32string_view> clip_words(std::u32string_view text);

}  // namespace gesso
