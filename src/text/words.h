#pragma once
#include <cstddef>
#include <string_view>

/// White space and words in valid UTF-8, as Python's regular expressions see them (\s and \b).
namespace gesso {

std::string_view trim_start(std::string_view text);
std::string_view trim_end(std::string_view text);
inline std::string_view trimmed(std::string_view text) {
  return trim_start(trim_end(text));
}

/// The first position from `position` on that holds no white space.
size_t skip_space(std::string_view text, size_t position);

/// Where `word` stands as a word of its own, at or after `from`; or npos.
size_t find_word(std::string_view text, std::string_view word, size_t from = 0);

}  // namespace gesso
