#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace gesso {

/// The code point of UTF-8 `text` at `position` (< text.size()), which moves past it. What is not UTF-8 reads as
/// U+FFFD, one for each longest start of a sequence (Unicode 15, section 3.9, as browsers and Python do).
char32_t next_code_point(std::string_view text, size_t& position);

/// The code point that ends before `position` (> 0) in valid UTF-8, and moves `position` to its start.
char32_t previous_code_point(std::string_view text, size_t& position);

std::u32string decode_utf8(std::string_view text);
/// U+FFFD for what is no code point (a surrogate, or beyond U+10FFFF).
void append_utf8(std::string& text, char32_t code_point);
std::string encode_utf8(std::u32string_view text);

/// `text` with what is not UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

/// General categories L* and N*, and the property White_Space.
bool is_letter(char32_t c);
bool is_number(char32_t c);
bool is_space(char32_t c);

/// Full lower case of every code point by itself (İ becomes i and U+0307; no special final sigma).
std::u32string to_lower(std::u32string_view text);

/// Normalisation form C (UAX #15), in n log n time also for long runs of combining marks.
std::u32string nfc(std::u32string_view text);

}  // namespace gesso
