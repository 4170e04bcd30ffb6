#include "text/prompt_schedule.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/unicode.h"
#include "text/number.h"
#include "text/prompt.h"
#include "text/words.h"

namespace gesso {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::string_view kDigits = "0123456789";

/// Text, or an edit (an index of Tree::nodes).
struct Piece {
  std::string text;
  std::optional<size_t> node = {};
};
using Sequence = std::vector<Piece>;

void append(Sequence& sequence, std::string_view text) {
  if (text.empty()) return;
  if (sequence.empty() || sequence.back().node) sequence.emplace_back();
  sequence.back().text += text;
}

void append(Sequence& sequence, Sequence more) {
  for (Piece& piece : more)
    if (piece.node)
      sequence.push_back(std::move(piece));
    else
      append(sequence, piece.text);
}

struct Node {
  std::vector<Sequence> options;  ///< of an edit: before and after
  std::optional<int> when;        ///< of an edit: the last step of what is before; nothing: options alternate
  int depth = 1;
};

struct Tree {
  Sequence top;
  std::vector<Node> nodes;
};

/// The number in the grammar of the reference: sign, digits with a point at most, exponent; nothing when it is none.
std::optional<double> number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with('+') || text.find_first_not_of("0123456789.eE+-") != text.npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return text.starts_with('-') ? -1 : HUGE_VAL;  // or tiny: never meant
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

class Parser {
 public:
  Parser(std::string_view text, int steps) : text_(text), steps_(steps) {}

  Tree parse() {
    for (size_t i = 0; i < text_.size(); ++i) {
      const size_t run = std::min(text_.find_first_of("\\()[]:|", i), text_.size());
      append(current(), text_.substr(i, run - i));
      if (run == text_.size()) break;
      i = run;
      take(text_[i], i);
    }
    dissolve();
    return std::move(tree_);
  }

 private:
  struct Frame {
    char open;
    std::vector<Sequence> parts{1};
    std::string separators;
  };

  Sequence& current() { return frames_.empty() ? tree_.top : frames_.back().parts.back(); }

  void take(char c, size_t& position) {
    if (c == '\\') {
      append(current(), text_.substr(position, 2));
      ++position;
    } else if (c == '(' || c == '[') {
      frames_.push_back({.open = c, .separators = {}});
    } else if (c == ')' || c == ']') {
      if (!close(c)) append(tree_.top, text_.substr(position, 1));
    } else if (frames_.empty()) {
      append(tree_.top, text_.substr(position, 1));
    } else {
      frames_.back().separators += c;
      frames_.back().parts.emplace_back();
    }
  }

  /// Ends the innermost bracket. One that fits nothing is text, and so are those around it, since none of them may hold
  /// a single bracket; then the answer is false.
  bool close(char c) {
    if (frames_.empty()) return false;
    Frame& frame = frames_.back();
    const bool fits = c == ')' ? frame.open == '(' && frame.separators.find('|') == frame.separators.npos &&
                                     frame.separators.size() <= 1
                               : frame.open == '[' && close_square();
    if (!fits) {
      dissolve();
      return false;
    }
    Frame closed = std::move(frames_.back());
    frames_.pop_back();
    if (closed.separators.empty() || closed.open == '(')
      unfold(std::move(closed), current(), c);
    else
      append(current(), {Piece{.text = {}, .node = tree_.nodes.size() - 1}});
    return true;
  }

  /// Makes a node of the innermost bracket if it is an edit; false when it fits nothing.
  bool close_square() {
    const Frame& frame = frames_.back();
    if (frame.separators.empty()) return true;
    Node node{.options = frame.parts, .when = {}};
    if (frame.separators.find_first_not_of('|') != frame.separators.npos) {
      if (frame.separators != ":" && frame.separators != "::") return false;
      const Sequence& last = frame.parts.back();
      if (last.size() != 1 || last[0].node) return false;
      const std::string_view when = trimmed(last[0].text);
      const auto number = number_of(when);
      if (!number) return false;
      const double step = when.find('.') == when.npos ? *number : *number * steps_;
      node.when = static_cast<int>(std::clamp(step, -1.0, static_cast<double>(steps_)));
      node.options.pop_back();
      if (node.options.size() == 1) node.options.emplace(node.options.begin());
    }
    for (const Sequence& option : node.options)
      for (const Piece& piece : option)
        if (piece.node) node.depth = std::max(node.depth, tree_.nodes[*piece.node].depth + 1);
    if (node.depth > kMaxDepth)
      fail(ErrorCode::kUsage, "edits in the prompt are nested more than {} deep: [[[a:b:1]:c:2]:d:3] ...", kMaxDepth);
    tree_.nodes.push_back(std::move(node));
    return true;
  }

  /// A bracket as text behind `target`, without its end when that is '\0'.
  static void unfold(Frame frame, Sequence& target, char end) {
    append(target, std::string(1, frame.open));
    for (size_t i = 0; i < frame.parts.size(); ++i) {
      if (i > 0) append(target, frame.separators.substr(i - 1, 1));
      append(target, std::move(frame.parts[i]));
    }
    if (end) append(target, std::string(1, end));
  }

  void dissolve() {
    for (Frame& frame : frames_) unfold(std::move(frame), tree_.top, '\0');
    frames_.clear();
  }

  std::string_view text_;
  int steps_;
  Tree tree_;
  std::vector<Frame> frames_;
};

void print(const Tree& tree, const Sequence& sequence, int step, std::string& out) {
  for (const Piece& piece : sequence) {
    out += piece.text;
    if (!piece.node) continue;
    const Node& node = tree.nodes[*piece.node];
    const size_t option =
        node.when ? static_cast<size_t>(step > *node.when) : static_cast<size_t>(step - 1) % node.options.size();
    print(tree, node.options[option], step, out);
  }
}

}  // namespace

PromptSchedule schedule_prompt(std::string_view text, int steps) {
  const std::string plain = valid_utf8(text.substr(0, kMaxPromptBytes + 1));  // parse_prompt refuses what is longer
  const Tree tree = Parser(plain, steps).parse();
  std::set<int> last_steps;
  bool alternates = false;
  for (const Node& node : tree.nodes)
    if (node.when)
      last_steps.insert(*node.when);
    else
      alternates = true;

  PromptSchedule schedule;
  std::unordered_map<std::string, size_t> known;
  for (int step = 1; step <= steps; ++step) {
    if (step > 1 && !alternates && !last_steps.contains(step - 1)) {
      schedule.text_of_step.push_back(schedule.text_of_step.back());
      continue;
    }
    std::string now;
    print(tree, tree.top, step, now);
    const auto [found, fresh] = known.try_emplace(std::move(now), schedule.texts.size());
    if (fresh) schedule.texts.push_back(found->first);
    if (schedule.texts.size() > kMaxScheduledTexts)
      fail(ErrorCode::kUsage, "the prompt has more than {} different texts over its steps: use fewer edits in it",
           kMaxScheduledTexts);
    schedule.text_of_step.push_back(found->second);
  }
  return schedule;
}

std::vector<PromptPart> split_prompt(std::string_view text) {
  constexpr std::string_view kAnd = "AND";
  const std::string plain = valid_utf8(text.substr(0, kMaxPromptBytes + 1));
  std::string_view rest = plain;
  std::vector<PromptPart> parts;
  size_t at = find_word(rest, kAnd);
  if (at == rest.npos) return {{plain, 1}};
  for (bool more = true; more;) {
    more = at != rest.npos;
    std::string_view part = trimmed(rest.substr(0, at));
    double weight = 1;
    const size_t digits = part.find_last_not_of("0123456789.");
    const size_t sign = digits != part.npos && (part[digits] == '-' || part[digits] == '+') ? digits : digits + 1;
    const std::string_view number = part.substr(std::min(sign, part.size()));
    const std::string_view before = trim_end(part.substr(0, std::min(sign, part.size())));
    if (number.find_first_of(kDigits) != number.npos && before.ends_with(':')) {
      const auto parsed = parse_number(number);
      if (!parsed)
        fail(ErrorCode::kUsage, "'{}' is no weight of a part of the prompt; write a cat :1.2 AND a dog :0.8",
             number.substr(0, 80));
      weight = *parsed;
      part = trim_end(before.substr(0, before.size() - 1));
    }
    parts.push_back({std::string(part), weight});
    if (parts.size() > kMaxScheduledTexts)
      fail(ErrorCode::kUsage, "the prompt has more than {} parts", kMaxScheduledTexts);
    if (!more) break;
    rest.remove_prefix(at + kAnd.size());
    at = find_word(rest, kAnd);
  }
  return parts;
}

}  // namespace gesso
