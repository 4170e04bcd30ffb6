#include "text/unigram_tokenizer.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/unicode.h"

namespace gesso {
namespace {

constexpr std::string_view kSpace = "\u2581";
constexpr double kUnknownPenalty = 10;  // below the worst piece, as SentencePiece has it

/// The byte of a piece at `depth`; -1 behind its end, so that a piece sorts before those it begins.
int byte_at(const std::string& piece, size_t depth) {
  return depth < piece.size() ? static_cast<unsigned char>(piece[depth]) : -1;
}

}  // namespace

UnigramTokenizer::UnigramTokenizer(SentencePieceModel model) : model_(std::move(model)), charsmap_(model_.charsmap) {
  sorted_.resize(model_.pieces.size());
  std::iota(sorted_.begin(), sorted_.end(), 0);
  std::ranges::sort(sorted_, {}, [&](int32_t id) -> const std::string& { return piece(id); });
  double lowest = 0;
  for (int32_t id = 0; id < size(); ++id) {
    const auto& p = model_.pieces[static_cast<size_t>(id)];
    lowest = std::min(lowest, static_cast<double>(p.score));
    if (p.score == 0 && p.text.size() > 2 && p.text.front() == '<' && p.text.back() == '>') control_.push_back(id);
  }
  unknown_score_ = lowest - kUnknownPenalty;
}

std::vector<int32_t> UnigramTokenizer::encode(std::string_view bytes) const {
  const std::string valid = valid_utf8(bytes);
  const std::string_view text = valid;
  std::vector<int32_t> ids;
  size_t begin = 0;
  for (size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at)) {
    const auto found =
        std::ranges::find_if(control_, [&](int32_t id) { return text.substr(at).starts_with(piece(id)); });
    if (found == control_.end()) {
      ++at;
      continue;
    }
    add_text(text.substr(begin, at - begin), ids);
    ids.push_back(*found);
    begin = at += piece(*found).size();
  }
  add_text(text.substr(begin), ids);
  return ids;
}

void UnigramTokenizer::add_text(std::string_view text, std::vector<int32_t>& ids) const {
  const std::string normal = charsmap_.normalise(text);
  std::string word;
  const auto end_word = [&] {
    if (word.size() > kSpace.size() || word == kSpace) add_word(word, ids);
    word.clear();
  };
  for (size_t at = 0; at < normal.size();) {
    const size_t first = at;
    if (is_space(next_code_point(normal, at))) {
      end_word();
      continue;
    }
    const std::string_view letter = std::string_view(normal).substr(first, at - first);
    if (letter == kSpace) end_word();  // in the text itself, it begins a word too
    if (word.empty() && letter != kSpace) word = kSpace;
    word += letter;
  }
  end_word();
}

void UnigramTokenizer::add_word(std::string_view word, std::vector<int32_t>& ids) const {
  struct Node {  // the best way to what ends here
    double score = -std::numeric_limits<double>::infinity();
    size_t begin = 0;
    int32_t id = -1;
  };
  std::vector<Node> nodes(word.size() + 1);
  nodes[0].score = 0;
  const auto offer = [&](size_t begin, size_t end, int32_t id, double score) {
    const double sum = nodes[begin].score + score;
    if (nodes[end].id < 0 || sum > nodes[end].score) nodes[end] = {sum, begin, id};
  };
  for (size_t begin = 0; begin < word.size();) {
    size_t letter_end = begin;
    next_code_point(word, letter_end);
    bool letter_known = false;
    auto low = sorted_.begin(), high = sorted_.end();  // the pieces that begin as the word does from here
    for (size_t end = begin; end < word.size();) {
      const size_t depth = end - begin;
      const int byte = static_cast<unsigned char>(word[end++]);
      const auto key = [&](int32_t id) { return byte_at(piece(id), depth); };
      low = std::ranges::lower_bound(low, high, byte, {}, key);
      high = std::ranges::upper_bound(low, high, byte, {}, key);
      if (low == high) break;
      if (piece(*low).size() != depth + 1) continue;
      offer(begin, end, *low, static_cast<double>(model_.pieces[static_cast<size_t>(*low)].score));
      letter_known |= end == letter_end;
    }
    if (!letter_known) offer(begin, letter_end, model_.unknown, unknown_score_);
    begin = letter_end;
  }
  std::vector<int32_t> reversed;
  for (size_t end = word.size(); end > 0; end = nodes[end].begin)
    if (const int32_t id = nodes[end].id; id != model_.unknown || reversed.empty() || reversed.back() != id)
      reversed.push_back(id);
  ids.insert(ids.end(), reversed.rbegin(), reversed.rend());
}

}  // namespace gesso
