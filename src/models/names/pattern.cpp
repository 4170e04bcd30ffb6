#include "models/names/pattern.h"

namespace gesso {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The end of the number at the start of `text`; 0 when there is none that a slot accepts.
size_t number_end(std::string_view text, int& value) {
  constexpr size_t kMaxDigits = 6;
  size_t end = 0;
  value = 0;
  for (; end < text.size() && is_digit(text[end]); ++end) {
    if (end == kMaxDigits) return 0;
    value = value * 10 + (text[end] - '0');
  }
  return end > 1 && text[0] == '0' ? 0 : end;
}

}  // namespace

std::optional<size_t> match_prefix(std::string_view pattern, std::string_view text, Numbers* numbers) {
  size_t at = 0;
  for (const char c : pattern) {
    if (c != '#' && c != '+') {
      if (at == text.size() || text[at] != c) return std::nullopt;
      ++at;
      continue;
    }
    int value = 0;
    const size_t length = number_end(text.substr(at), value);
    if (length == 0 || (c == '+' && value == 0)) return std::nullopt;
    if (numbers) numbers->push_back(value);
    at += length;
  }
  return at;
}

bool match(std::string_view pattern, std::string_view text, Numbers* numbers) {
  const auto covered = match_prefix(pattern, text, numbers);
  return covered && *covered == text.size();
}

std::string form_of(std::string_view text) {
  std::string form;
  form.reserve(text.size());
  for (const char c : text) {
    const bool number = is_digit(c) || c == '#' || c == '+';
    if (!number) form += c;
    if (number && (form.empty() || form.back() != '#')) form += '#';
  }
  return form;
}

}  // namespace gesso
