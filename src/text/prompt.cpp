#include "text/prompt.h"

#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/unicode.h"
#include "text/lora_tags.h"
#include "text/number.h"
#include "text/words.h"

namespace gesso {
namespace {

constexpr std::string_view kBreak = "BREAK";
constexpr const char* kTooHeavy = "the weights of the prompt's nested brackets multiply to more than a number can hold";
constexpr std::string_view kSyntax = "\\()[]:";

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
    for (size_t at = find_word(rest, kBreak); at != rest.npos; at = find_word(rest, kBreak)) {
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
    if (!std::isfinite(rounded)) fail(ErrorCode::kUsage, kTooHeavy);
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

// ComfyUI's reading. Its escapes, \\( and \\), are taken out first and put back as brackets at the end; here they stand
// as these two bytes, which valid UTF-8 never has.
constexpr char kOpenEscaped = '\xFE', kCloseEscaped = '\xFF';

std::string hide_escapes(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '(' || text[i + 1] == ')');
    if (escape) ++i;
    result += !escape ? text[i] : text[i] == '(' ? kOpenEscaped : kCloseEscaped;
  }
  return result;
}

struct Part {
  std::string_view text;
  double weight;
};

// A text's pieces in order: those in brackets, and what is between. A bracket left open goes on to the end; behind one
// too many, all is one piece.
std::vector<Part> bracket_parts(const Part& whole) {
  std::vector<Part> parts;
  size_t start = 0;
  int64_t level = 0;
  const auto end_at = [&](size_t end) {
    if (end > start) parts.push_back({whole.text.substr(start, end - start), whole.weight});
    start = end;
  };
  for (size_t i = 0; i < whole.text.size(); ++i) {
    if (whole.text[i] == '(' && level++ == 0) end_at(i);
    if (whole.text[i] == ')' && --level == 0) end_at(i + 1);
  }
  end_at(whole.text.size());
  return parts;
}

// "(inside)" or "(inside:1.2)" without its brackets and number, which is the weight itself.
Part opened(Part part) {
  part.text = part.text.substr(1, part.text.size() - 2);
  part.weight *= 1.1;
  const size_t colon = part.text.rfind(':');
  if (colon == 0 || colon == part.text.npos) return part;
  const auto number = parse_number(trimmed(part.text.substr(colon + 1)));
  return number ? Part{part.text.substr(0, colon), *number} : part;
}

std::vector<WeightedSegment> parse_comfy(std::string_view text) {
  const std::string hidden = hide_escapes(text);
  std::vector<WeightedSegment> section;
  std::vector<Part> todo{{hidden, 1}};  // the last is next
  while (!todo.empty()) {
    const Part whole = todo.back();
    todo.pop_back();
    const auto weight = static_cast<float>(whole.weight);
    if (!std::isfinite(weight)) fail(ErrorCode::kUsage, kTooHeavy);
    const auto parts = bracket_parts(whole);
    const auto in_brackets = [](const Part& part) {
      return part.text.size() >= 2 && part.text.front() == '(' && part.text.back() == ')';
    };
    if (parts.size() == 1 && !in_brackets(parts[0])) {
      if (section.empty() || section.back().weight != weight) section.push_back({"", weight});
      for (const char c : parts[0].text) section.back().text += c == kOpenEscaped ? '(' : c == kCloseEscaped ? ')' : c;
      continue;
    }
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
      todo.push_back(in_brackets(*part) ? opened(*part) : *part);
  }
  return section;
}

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

Prompt parse_prompt(std::string_view text, PromptSyntax syntax) {
  if (text.size() > kMaxPromptBytes)
    fail(ErrorCode::kUsage, "the prompt has {} bytes; at most {} are accepted: shorten it", text.size(),
         kMaxPromptBytes);
  std::string plain = valid_utf8(text);
  Prompt prompt;
  prompt.syntax = syntax;
  if (syntax == PromptSyntax::kComfyUi) {
    prompt.sections[0] = parse_comfy(plain);
    return prompt;
  }
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
