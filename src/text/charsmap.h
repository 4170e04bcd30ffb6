#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gesso {

/// SentencePiece's compiled normalisation rules (its "precompiled_charsmap", for T5 nmt_nfkc): a double-array trie of
/// what is replaced, and the replacements. Applied as the `tokenizers` library does, cluster by cluster (UAX #29):
/// a cluster of at most 5 bytes as a whole when a rule begins it, else letter by letter.
class Charsmap {
 public:
  /// An empty blob changes nothing. Throws kBadFile when it is damaged.
  explicit Charsmap(std::string_view blob);

  /// `text` must be valid UTF-8.
  std::string normalise(std::string_view text) const;

 private:
  /// The replacement of the shortest rule that begins `text`.
  std::optional<std::string_view> find(std::string_view text) const;

  std::vector<uint32_t> units_;
  std::string replacements_;  // each ends with a zero byte
};

}  // namespace gesso
