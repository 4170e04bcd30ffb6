#include "text/clip_tokenizer.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/unicode.h"
#include "text/clip_vocabulary.h"

namespace gesso {
namespace {

constexpr int32_t kFirstMerge = 512;           // ids below are the 256 bytes inside a word, then the 256 at its end
constexpr size_t kMaxBytes = size_t{1} << 28;  // so that places fit 32 bits, also after normalisation
constexpr std::string_view kWordEnd = "</w>";

// The order in which the vocabulary lists bytes: those that print in Latin-1 first. The rest is spelled with the
// characters from U+0100 on, so that no token holds a space or a control.
bool prints(int byte) {
  return (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
}

std::u32string normalise(std::string_view text) {
  std::u32string spaced;
  for (const char32_t c : nfc(decode_utf8(text))) {
    if (!is_space(c))
      spaced += c;
    else if (spaced.empty() || spaced.back() != U' ')
      spaced += U' ';
  }
  return to_lower(spaced);
}

struct Special {
  std::u32string_view text;
  int32_t id;
};
constexpr Special kSpecials[] = {{U"<|startoftext|>", ClipTokenizer::kBos}, {U"<|endoftext|>", ClipTokenizer::kEos}};

// The special token that starts `text`, or null.
const Special* special_at(std::u32string_view text) {
  for (const Special& special : kSpecials)
    if (text.starts_with(special.text)) return &special;
  return nullptr;
}

size_t find_special(std::u32string_view text) {
  size_t position = text.find(U"<|");
  while (position != text.npos && !special_at(text.substr(position))) position = text.find(U"<|", position + 1);
  return std::min(position, text.size());
}

}  // namespace

// A word while it is merged: a linked list of symbols, and where each merge may apply.
struct ClipTokenizer::Scratch {
  struct Symbol {
    int32_t id, previous, next;  // id -1: merged into its left neighbour; next -1: the last
  };
  std::vector<Symbol> symbols;
  std::map<int32_t, std::vector<int32_t>> sites;  // merged id -> indices of left symbols; some may be out of date
};

ClipTokenizer::ClipTokenizer() {
  tokens_.resize(kFirstMerge);
  tokens_.reserve(kVocabulary);
  int32_t id = 0;
  char32_t spelling = 0x100;
  for (const bool printing : {true, false}) {
    for (int byte = 0; byte < 256; ++byte) {
      if (prints(byte) != printing) continue;
      append_utf8(tokens_[id], printing ? static_cast<char32_t>(byte) : spelling++);
      tokens_[id + 256] = tokens_[id] + std::string(kWordEnd);
      byte_ids_[byte] = id++;
    }
  }

  std::unordered_map<std::string_view, int32_t> ids(kVocabulary * 2);
  for (int32_t i = 0; i < kFirstMerge; ++i) ids.emplace(tokens_[i], i);
  const std::string rules = clip_merge_rules();
  for (size_t begin = 0; begin < rules.size();) {
    const size_t space = rules.find(' ', begin), end = rules.find('\n', begin);
    const std::string_view left(&rules[begin], space - begin), right(&rules[space + 1], end - space - 1);
    merges_.push_back({ids.at(left), ids.at(right)});
    const auto merged = static_cast<int32_t>(tokens_.size());
    ids.emplace(tokens_.emplace_back(std::string(left) += right), merged);  // reserved above: the view stays valid
    begin = end + 1;
  }
  tokens_.emplace_back("<|startoftext|>");
  tokens_.emplace_back("<|endoftext|>");
  index_merges();
}

void ClipTokenizer::index_merges() {
  for (size_t i = 0; i < merges_.size(); ++i)
    followers_.push_back({merges_[i].left, merges_[i].right, kFirstMerge + static_cast<int32_t>(i)});
  std::sort(followers_.begin(), followers_.end(), [](const Follower& a, const Follower& b) {
    return std::pair(a.left, a.right) < std::pair(b.left, b.right);
  });
  first_follower_.resize(kVocabulary + 1);
  for (const auto& follower : followers_) ++first_follower_[follower.left + 1];
  std::partial_sum(first_follower_.begin(), first_follower_.end(), first_follower_.begin());
}

int32_t ClipTokenizer::merge_of(int32_t left, int32_t right) const {
  const auto begin = followers_.begin() + first_follower_[left], end = followers_.begin() + first_follower_[left + 1];
  const auto found = std::lower_bound(begin, end, right, [](const Follower& f, int32_t id) { return f.right < id; });
  return found == end || found->right != right ? -1 : found->merged;
}

void ClipTokenizer::encode_word(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const {
  auto& symbols = scratch.symbols;
  const auto count = static_cast<int32_t>(word.size());
  symbols.clear();
  for (int32_t i = 0; i < count; ++i) symbols.push_back({byte_ids_[static_cast<uint8_t>(word[i])], i - 1, i + 1});
  symbols.back().id += 256;
  symbols.back().next = -1;

  const auto propose = [&](int32_t left) {
    if (left < 0 || symbols[left].next < 0) return;
    const int32_t merged = merge_of(symbols[left].id, symbols[symbols[left].next].id);
    if (merged >= 0) scratch.sites[merged].push_back(left);
  };
  for (int32_t i = 0; i < count; ++i) propose(i);
  // The lowest rank first, at all its sites from the left: what a merge makes possible always has a higher rank.
  while (!scratch.sites.empty()) {
    auto [merged, sites] = std::move(*scratch.sites.begin());
    scratch.sites.erase(scratch.sites.begin());
    std::sort(sites.begin(), sites.end());
    const Pair& pair = merges_[merged - kFirstMerge];
    for (const int32_t at : sites) {
      auto& left = symbols[at];
      if (left.id != pair.left || left.next < 0 || symbols[left.next].id != pair.right) continue;
      left.id = merged;
      symbols[left.next].id = -1;
      left.next = symbols[left.next].next;
      if (left.next >= 0) symbols[left.next].previous = at;
      propose(left.previous);
      propose(at);
    }
  }
  for (int32_t i = 0; i >= 0; i = symbols[i].next) ids.push_back(symbols[i].id);
}

std::vector<int32_t> ClipTokenizer::encode(std::string_view text) const {
  if (text.size() > kMaxBytes)
    fail(ErrorCode::kUsage, "a text of {} bytes is too long to tokenise; at most {} are accepted", text.size(),
         kMaxBytes);
  const std::u32string normal = normalise(text);
  std::u32string_view rest = normal;
  std::vector<int32_t> ids;
  Scratch scratch;
  while (!rest.empty()) {
    const size_t end = find_special(rest);
    for (const auto word : clip_words(rest.substr(0, end))) encode_word(encode_utf8(word), scratch, ids);
    rest.remove_prefix(end);
    if (const Special* special = special_at(rest)) {
      ids.push_back(special->id);
      rest.remove_prefix(special->text.size());
    }
  }
  return ids;
}

std::string_view ClipTokenizer::token(int32_t id) const {
  if (id < 0 || id >= kVocabulary)
    fail(ErrorCode::kUsage, "{} is not a CLIP token: ids are 0 to {}", id, kVocabulary - 1);
  return tokens_[id];
}

bool ClipTokenizer::ends_word(int32_t id) const {
  return id >= 0 && id < kVocabulary && (id >= kBos || tokens_[id].ends_with(kWordEnd));
}

std::vector<std::u32string_view> clip_words(std::u32string_view text) {
  static constexpr std::u32string_view kContractions[] = {U"'s", U"'t", U"'re", U"'ve", U"'m", U"'ll", U"'d"};
  const auto is_other = [](char32_t c) { return !is_space(c) && !is_letter(c) && !is_number(c); };
  const auto length_at = [&](size_t begin) -> size_t {
    for (const auto contraction : kContractions)
      if (text.substr(begin).starts_with(contraction)) return contraction.size();
    if (is_number(text[begin])) return 1;
    const bool letters = is_letter(text[begin]);
    size_t end = begin + 1;
    while (end < text.size() && (letters ? is_letter(text[end]) : is_other(text[end]))) ++end;
    return end - begin;
  };
  std::vector<std::u32string_view> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t length = is_space(text[begin]) ? 0 : length_at(begin);
    if (length > 0) words.push_back(text.substr(begin, length));
    begin += std::max<size_t>(length, 1);
  }
  return words;
}

}  // namespace gesso
