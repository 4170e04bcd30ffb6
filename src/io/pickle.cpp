#include "io/pickle.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/unicode.h"
#include "io/printable.h"

namespace gesso {
namespace {

using enum PickleKind;
using Id = PickleId;

/// A virtual machine that builds values and does nothing else.
class Machine {
 public:
  Machine(std::span<const std::byte> bytes, const std::string& name)
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), name_(name) {}

  Pickle run() {
    do {
      op_ = at_;
    } while (step(static_cast<unsigned char>(take(1)[0])));
    pickle_.root = pop();
    pickle_.size = at_;
    return std::move(pickle_);
  }

 private:
  [[noreturn]] void malformed(std::string_view what, ErrorCode code = ErrorCode::kBadFile) const {
    fail(code, "{}: at byte {} of the pickle: {}", name_, op_, what);
  }

  // The input.

  std::string_view take(uint64_t bytes) {
    if (bytes > text_.size() - at_) malformed(fmt::format("truncated: {} bytes more are needed", bytes));
    const auto part = text_.substr(at_, static_cast<size_t>(bytes));
    at_ += static_cast<size_t>(bytes);
    return part;
  }
  std::string_view line() {
    const size_t end = text_.find('\n', at_);
    if (end == text_.npos) malformed("truncated within a line");
    const auto part = text_.substr(at_, end - at_);
    at_ = end + 1;
    return part;
  }
  uint64_t number(int size) {
    uint64_t value = 0;
    const auto b = take(static_cast<uint64_t>(size));
    for (int i = 0; i < size; ++i) value |= uint64_t{static_cast<unsigned char>(b[static_cast<size_t>(i)])} << (8 * i);
    return value;
  }
  uint64_t decimal() {
    const auto digits = line();
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
      malformed(fmt::format("wanted a number, found {}", printable(digits)));
    return value;
  }

  // Values and the stack.

  Id make(PickleKind kind) {
    if (pickle_.values.size() >= kMaxPickleValues)
      malformed(fmt::format("more than {} values", kMaxPickleValues), ErrorCode::kUnsupported);
    pickle_.values.emplace_back().kind = kind;
    return static_cast<Id>(pickle_.values.size() - 1);
  }
  void push(PickleKind kind) { stack_.push_back(make(kind)); }
  void push_integer(PickleKind kind, int64_t value) {
    push(kind);
    pickle_.values.back().integer = value;
  }
  void push_text(PickleKind kind, std::string_view text) {
    push(kind);
    pickle_.values.back().text = text;
  }
  void push_decoded(PickleKind kind, std::string text) {
    push_text(kind, pickle_.decoded.emplace_back(std::move(text)));
  }
  void push_items(PickleKind kind, std::vector<Id> items) {
    if (kind == kDict && items.size() % 2) malformed("a key without a value");
    push(kind);
    pickle_.values.back().items = std::move(items);
  }
  /// Where the values above the last mark begin.
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  Id pop() {
    if (stack_.size() <= floor()) malformed("a value is needed where none is");
    const Id id = stack_.back();
    stack_.pop_back();
    return id;
  }
  Id top() {
    if (stack_.size() <= floor()) malformed("a value is needed where none is");
    return stack_.back();
  }
  std::vector<Id> pop_to_mark() {
    if (marks_.empty()) malformed("a mark is needed where none is");
    std::vector<Id> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  void push_tuple(size_t size) {
    if (stack_.size() - floor() < size) malformed("a tuple of more values than there are");
    std::vector<Id> items(stack_.end() - static_cast<std::ptrdiff_t>(size), stack_.end());
    stack_.resize(stack_.size() - size);
    push_items(kTuple, std::move(items));
  }
  void push_object(Id callee, Id arguments) {
    push(kObject);
    pickle_.values.back().first = callee;
    pickle_.values.back().second = arguments;
  }
  void push_global(std::string_view module, std::string_view name) {
    push_decoded(kGlobal, std::string(module) + "." + std::string(name));
  }
  /// Adds elements to the list, set or object on top of the stack, or pairs to the dict or object.
  void extend(const std::vector<Id>& items, bool pairs) {
    if (pairs && items.size() % 2) malformed("a key without a value");
    PickleValue& target = pickle_.values[top()];
    if (target.kind != kObject && target.kind != (pairs ? kDict : kList))
      malformed(pairs ? "items set on what is no dict" : "elements added to what is no list");
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  void memoize(uint64_t index) { memo_[index] = top(); }
  void recall(uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) malformed(fmt::format("there is no memo {}", index));
    stack_.push_back(found->second);
  }

  // Text that protocol 0 spells out.

  /// The value of up to `most` digits of `base` at `at`, which moves past them.
  static std::optional<uint32_t> digits(std::string_view s, size_t& at, int base, size_t most, bool exactly) {
    const size_t length = std::min(most, s.size() - at);
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(s.data() + at, s.data() + at + length, value, base);
    const auto used = static_cast<size_t>(end - (s.data() + at));
    if (error != std::errc() || (exactly && used != most)) return std::nullopt;
    at += used;
    return value;
  }

  /// The codec raw-unicode-escape: \uXXXX and \UXXXXXXXX, every other byte a code point.
  std::string unescape_unicode(std::string_view s) const {
    std::string text;
    for (size_t i = 0; i < s.size();) {
      const bool small = s.substr(i, 2) == "\\u", large = s.substr(i, 2) == "\\U";
      if (!small && !large) {
        append_utf8(text, static_cast<unsigned char>(s[i++]));
        continue;
      }
      i += 2;
      const auto value = digits(s, i, 16, small ? 4 : 8, true);
      if (!value) malformed("a damaged \\u escape");
      append_utf8(text, static_cast<char32_t>(*value));
    }
    return text;
  }

  /// A Python string literal: quotes around it, escapes of one letter, \xNN and octal.
  std::string unquote(std::string_view s) const {
    if (s.size() < 2 || (s.front() != '\'' && s.front() != '"') || s.back() != s.front())
      malformed("wanted a quoted string");
    s = s.substr(1, s.size() - 2);
    std::string text;
    for (size_t i = 0; i < s.size();) {
      if (s[i] != '\\') {
        text += s[i++];
        continue;
      }
      if (++i == s.size()) malformed("a string that ends within an escape");
      constexpr std::string_view kLetters = "\\'\"abfnrtv", kMeanings = "\\'\"\a\b\f\n\r\t\v";
      if (const size_t letter = kLetters.find(s[i]); letter != kLetters.npos) {
        text += kMeanings[letter];
        ++i;
      } else if (const bool hex = s[i] == 'x'; hex || (s[i] >= '0' && s[i] <= '7')) {
        i += hex ? 1 : 0;
        const auto value = i < s.size() ? digits(s, i, hex ? 16 : 8, hex ? 2 : 3, hex) : std::nullopt;
        if (!value) malformed("a damaged escape in a string");
        text += static_cast<char>(*value);
      } else {
        text += '\\';
      }
    }
    return text;
  }

  void push_decimal(std::string_view s, bool is_long) {
    if (!is_long && (s == "00" || s == "01")) return push_integer(kBool, s == "01");
    if (is_long && s.ends_with('L')) s.remove_suffix(1);
    if (s.empty() || s.find_first_not_of("0123456789", s[0] == '-' ? 1 : 0) != s.npos || s == "-")
      malformed(fmt::format("wanted a number, found {}", printable(s)));
    int64_t value = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    error == std::errc() ? push_integer(kInt, value) : push_text(kBigInt, s);
  }

  void push_long(std::string_view s) {
    if (s.size() > 8) return push_text(kBigInt, s);
    uint64_t value = !s.empty() && (s.back() & 0x80) ? ~uint64_t{0} : 0;
    for (size_t i = s.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(s[i]);
    push_integer(kInt, static_cast<int64_t>(value));
  }

  void long4() {
    const auto size = static_cast<int32_t>(number(4));
    if (size < 0) malformed("a number of negative length");
    push_long(take(static_cast<uint64_t>(size)));
  }

  /// Does one operation; false at the end.
  bool step(unsigned char op) {
    switch (op) {
      // stack and memo
      case '(':
        marks_.push_back(stack_.size());
        break;
      case '.':
        return false;
      case '0':  // POP, which also takes a mark
        if (stack_.size() == floor() && !marks_.empty())
          marks_.pop_back();
        else
          pop();
        break;
      case '1':
        pop_to_mark();
        break;
      case '2':
        stack_.push_back(top());
        break;
      case 'p':
        memoize(decimal());
        break;
      case 'q':
        memoize(number(1));
        break;
      case 'r':
        memoize(number(4));
        break;
      case 0x94:
        memoize(memo_.size());
        break;
      case 'g':
        recall(decimal());
        break;
      case 'h':
        recall(number(1));
        break;
      case 'j':
        recall(number(4));
        break;
      // numbers
      case 'N':
        push(kNone);
        break;
      case 0x88:
      case 0x89:
        push_integer(kBool, op == 0x88);
        break;
      case 'I':
        push_decimal(line(), false);
        break;
      case 'L':
        push_decimal(line(), true);
        break;
      case 'J':
        push_integer(kInt, static_cast<int32_t>(number(4)));
        break;
      case 'K':
        push_integer(kInt, static_cast<int64_t>(number(1)));
        break;
      case 'M':
        push_integer(kInt, static_cast<int64_t>(number(2)));
        break;
      case 0x8a:
        push_long(take(number(1)));
        break;
      case 0x8b:
        long4();
        break;
      case 'F':
        line();
        push(kFloat);
        break;
      case 'G':
        take(8);
        push(kFloat);
        break;
      // text
      case 'S':
        push_decoded(kString, unquote(line()));
        break;
      case 'V':
        push_decoded(kString, unescape_unicode(line()));
        break;
      case 'U':
      case 0x8c:
        push_text(kString, take(number(1)));
        break;
      case 'T':
      case 'X':
        push_text(kString, take(number(4)));
        break;
      case 0x8d:
        push_text(kString, take(number(8)));
        break;
      case 'C':
        push_text(kBytes, take(number(1)));
        break;
      case 'B':
        push_text(kBytes, take(number(4)));
        break;
      case 0x8e:
      case 0x96:
        push_text(kBytes, take(number(8)));
        break;
      // collections
      case ']':
      case 0x8f:
        push(kList);
        break;
      case 'l':
      case 0x91:
        push_items(kList, pop_to_mark());
        break;
      case ')':
        push(kTuple);
        break;
      case 't':
        push_items(kTuple, pop_to_mark());
        break;
      case 0x85:
      case 0x86:
      case 0x87:
        push_tuple(op - 0x84u);
        break;
      case '}':
        push(kDict);
        break;
      case 'd':
        push_items(kDict, pop_to_mark());
        break;
      case 'a': {
        const Id element = pop();
        extend({element}, false);
        break;
      }
      case 'e':
      case 0x90:
        extend(pop_to_mark(), false);
        break;
      case 's': {
        const Id value = pop(), key = pop();
        extend({key, value}, true);
        break;
      }
      case 'u':
        extend(pop_to_mark(), true);
        break;
      // what would be imported, called or fetched
      case 'c': {
        const auto module = line();
        push_global(module, line());
        break;
      }
      case 0x93: {
        const PickleValue &name = pickle_[pop()], &module = pickle_[pop()];
        if (name.kind != kString || module.kind != kString) malformed("a global whose name is no text");
        push_global(module.text, name.text);
        break;
      }
      case 'R':
      case 0x81: {
        const Id arguments = pop(), callee = pop();
        push_object(callee, arguments);
        break;
      }
      case 0x92: {
        pop();  // keyword arguments: no class of torch.save takes any
        const Id arguments = pop(), callee = pop();
        push_object(callee, arguments);
        break;
      }
      case 'i': {
        const auto module = line(), name = line();
        push_items(kTuple, pop_to_mark());
        const Id arguments = pop();
        push_global(module, name);
        push_object(pop(), arguments);
        break;
      }
      case 'o': {
        std::vector<Id> items = pop_to_mark();
        if (items.empty()) malformed("an object without a class");
        const Id callee = items.front();
        items.erase(items.begin());
        push_items(kTuple, std::move(items));
        push_object(callee, pop());
        break;
      }
      case 'b': {
        const Id state = pop();
        pickle_.values[top()].state = state;
        break;
      }
      case 'P':
        push_text(kString, line());
        [[fallthrough]];
      case 'Q': {
        const Id what = pop();
        push(kPersistent);
        pickle_.values.back().first = what;
        break;
      }
      // frames
      case 0x80:
        if (const uint64_t protocol = number(1); protocol > 5)
          malformed(fmt::format("protocol {}, where 5 is the newest", protocol), ErrorCode::kUnsupported);
        break;
      case 0x95:
        if (const uint64_t frame = number(8); frame > text_.size() - at_)
          malformed(fmt::format("truncated: a frame of {} bytes, of which {} are there", frame, text_.size() - at_));
        break;
      default:
        if ((op >= 0x82 && op <= 0x84) || op == 0x97 || op == 0x98)
          malformed(fmt::format("opcode 0x{:02x}, which torch.save does not use", op), ErrorCode::kUnsupported);
        malformed(fmt::format("there is no opcode 0x{:02x}", op));
    }
    return true;
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0, op_ = 0;
  Pickle pickle_;
  std::vector<Id> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, Id> memo_;
};

}  // namespace

Pickle read_pickle(std::span<const std::byte> bytes, const std::string& name) {
  return Machine(bytes, name).run();
}

}  // namespace gesso
