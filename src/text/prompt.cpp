#include "text/prompt.h"

#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/unicode.h"
#include "text/lora_tags.h"
#include "text/number.h"

namespace gesso {
namespace {

constexpr std::string_view kBreak = "BREAK";
constexpr std::string_view kSyntax = "\\()[]:";

bool is_word(char32_t c) {
  return c == U'_' || is_letter(c) || is_number(c);
}

size_t skip_space(std::string_view text, size_t position) {
  for (size_t next = position; next < text.size(); position = next)
    if (!is_space(next_code_point(text, next))) break;
  return position;
}

std::string_view trim_start(std::string_view text) {
  return text.substr(skip_space(text, 0));
}

std::string_view trim_end(std::string_view text) {
  size_t end = text.size();
  for (size_t start = end; start > 0; end = start)
    if (!is_space(previous_code_point(text, start))) break;
  return text.substr(0, end);
}

// Where BREAK stands as a word of its own, or npos.
size_t find_break(std::string_view text) {
  for (size_t at = text.find(kBreak); at != text.npos; at = text.find(kBreak, at + 1)) {
    size_t before = at, after = at + kBreak.size();
    if (before > 0 && is_word(previous_code_point(text, before))) continue;
    if (after < text.size() && is_word(next_code_point(text, after))) continue;
    return at;
  }
  return text.npos;
}

struct NumberedClose {
  double weight;
  size_t end;  // behind the bracket
};

// ":1.3)" at `colon`; nothing when that is text. The number is taken as a whole: "(10:30.15.2)" is refused.
std::optional<NumberedClose> numbered_close(std::string_view text, size_t colon) {
  const size_t begin = skip_space(text, colon + 1);
  size_t end = begin;
  if (end < text.size() && (text[end] == '+' || text[end] == '-')) ++end;
  end = std::min(text.find_first_not_of(".0123456789", end), text.size());
  const auto number = text.substr(begin, end - begin);
  const size_t bracket = skip_space(text, end);
  if (bracket == text.size() || text[bracket] != ')') return std::nullopt;
  if (number.find_first_of("0123456789") == number.npos) return std::nullopt;
  const auto weight = parse_number(number);
  if (!weight)
    fail(ErrorCode::kUsage, "the weight '{}' in the prompt is no number; write (text:1.2), or \\( and \\) for brackets",
         number.substr(0, 80));
  return NumberedClose{*weight, bracket + 1};
}

// The brackets of one kind as a tree; number 0 is outside of all. Inner ones have higher numbers than outer ones.
class Brackets {
 public:
  explicit Brackets(double factor) : factor_(factor) {}

  size_t current() const { return current_; }
  bool open() const { return current_ != 0; }
  void begin() {
    all_.push_back({current_, factor_});
    current_ = all_.size() - 1;
  }
  void end() { current_ = all_[current_].outer; }
  void end(double factor) {
    all_[current_].factor = factor;
    end();
  }

  /// What each bracket multiplies weights by, those around it included.
  std::vector<double> products() const {
    std::vector<double> result{1};
    for (size_t i = 1; i < all_.size(); ++i) result.push_back(result[all_[i].outer] * all_[i].factor);
    return result;
  }

 private:
  struct Bracket {
    size_t outer;
    double factor;
  };
  double factor_;
  std::vector<Bracket> all_{{0, 1}};
  size_t current_ = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::vector<std::vector<WeightedSegment>> parse() {
    while (position_ < text_.size()) step();
    return fold();
  }

 private:
  struct Piece {
    std::optional<std::string_view> text;  // nothing: BREAK
    size_t round, square;                  // the brackets it stands in
  };

  void step() {
    const char c = text_[position_];
    if (c == '\\') return escape();
    if (c == ':' && round_.open()) return colon();
    if (kSyntax.find(c) == kSyntax.npos) return run();
    if (c == '(')
      round_.begin();
    else if (c == '[')
      square_.begin();
    else if (c == ')' && round_.open())
      round_.end();
    else if (c == ']' && square_.open())
      square_.end();
    else
      push(text_.substr(position_, 1));
    ++position_;
  }

  void escape() {
    ++position_;
    constexpr std::string_view kEscaped = "\\()[]";
    if (position_ < text_.size() && kEscaped.find(text_[position_]) != kEscaped.npos)
      push(text_.substr(position_++, 1));
  }

  void colon() {
    if (const auto numbered = numbered_close(text_, position_)) {
      round_.end(numbered->weight);
      position_ = numbered->end;
    } else {
      push(text_.substr(position_++, 1));
    }
  }

  void run() {
    const size_t end = std::min(text_.find_first_of(kSyntax, position_), text_.size());
    auto rest = text_.substr(position_, end - position_);
    position_ = end;
    for (size_t at = find_break(rest); at != rest.npos; at = find_break(rest)) {
      push(rest.substr(0, at));
      push(std::nullopt);
      rest.remove_prefix(at + kBreak.size());
    }
    push(rest);
  }

  void push(std::optional<std::string_view> text) { pieces_.push_back({text, round_.current(), square_.current()}); }

  std::vector<std::vector<WeightedSegment>> fold() const {
    const auto round = round_.products(), square = square_.products();
    std::vector<std::vector<WeightedSegment>> sections(1);
    for (const Piece& piece : pieces_) {
      auto& section = sections.back();
      if (!piece.text) {
        trim_end_of(section);
        sections.emplace_back();
      } else {
        const bool after_break = sections.size() > 1 && section.empty();
        append(section, after_break ? trim_start(*piece.text) : *piece.text, round[piece.round] * square[piece.square]);
      }
    }
    return sections;
  }

  static void append(std::vector<WeightedSegment>& section, std::string_view text, double weight) {
    if (text.empty()) return;
    const auto rounded = static_cast<float>(weight);
    if (!std::isfinite(rounded))
      fail(ErrorCode::kUsage, "the weights of the prompt's nested brackets multiply to more than a number can hold");
    if (section.empty() || section.back().weight != rounded)
      section.push_back({std::string(text), rounded});
    else
      section.back().text += text;
  }

  static void trim_end_of(std::vector<WeightedSegment>& section) {
    while (!section.empty()) {
      auto& text = section.back().text;
      text.resize(trim_end(text).size());
      if (!text.empty()) return;
      section.pop_back();
    }
  }

  std::string_view text_;
  size_t position_ = 0;
  std::vector<Piece> pieces_;
  Brackets round_{1.1}, square_{1 / 1.1};
};

// The text with what parse_prompt would read as syntax escaped. A backslash before a letter is dropped in reading, so
// it can part a word that means something.
std::string escape(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ':' && kSyntax.find(text[i]) != kSyntax.npos) result += '\\';
    result += text[i];
    if (text.substr(i).starts_with(kBreak) || starts_lora_tag(text.substr(i))) result += '\\';
  }
  return result;
}

}  // namespace

Prompt parse_prompt(std::string_view text) {
  if (text.size() > kMaxPromptBytes)
    fail(ErrorCode::kUsage, "the prompt has {} bytes; at most {} are accepted: shorten it", text.size(),
         kMaxPromptBytes);
  std::string plain = valid_utf8(text);
  Prompt prompt;
  prompt.loras = extract_lora_tags(plain);
  prompt.sections = Parser(plain).parse();
  return prompt;
}

std::string print_prompt(const Prompt& prompt) {
  std::string text;
  for (size_t i = 0; i < prompt.sections.size(); ++i) {
    if (i > 0) text += " BREAK ";
    for (const auto& segment : prompt.sections[i]) {
      if (segment.weight == 1)
        text += escape(segment.text);
      else
        text += "(" + escape(segment.text) + ":" + print_number(segment.weight) + ")";
    }
  }
  for (const auto& lora : prompt.loras) {
    text += "<lora:" + lora.name + ":" + print_number(lora.text_encoder_weight);
    if (lora.model_weight != lora.text_encoder_weight) text += ":" + print_number(lora.model_weight);
    text += ">";
  }
  return text;
}

}  // namespace gesso
