#include "text/words.h"

#include "base/unicode.h"

namespace gesso {
namespace {

bool is_word(char32_t c) {
  return c == U'_' || is_letter(c) || is_number(c);
}

}  // namespace

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

size_t find_word(std::string_view text, std::string_view word, size_t from) {
  for (size_t at = text.find(word, from); at != text.npos; at = text.find(word, at + 1)) {
    size_t before = at, after = at + word.size();
    if (before > 0 && is_word(previous_code_point(text, before))) continue;
    if (after < text.size() && is_word(next_code_point(text, after))) continue;
    return at;
  }
  return text.npos;
}

}  // namespace gesso
