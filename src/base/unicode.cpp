#include "base/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/error.h"

namespace gesso {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

// What may follow a lead byte: how many bytes, and the range of the first of them (Unicode 15, table 3-7).
struct Lead {
  int following;
  uint8_t first, last;
};

Lead lead_of(uint8_t byte) {
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {1, 0x80, 0xBF};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};  // no surrogates
  if (byte < 0xF0) return {2, 0x80, 0xBF};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte < 0xF4) return {3, 0x80, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};  // nothing above U+10FFFF
  return {0, 0, 0};
}

bool is_continuation(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) == 0x80;
}

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

int combining_class(utf8proc_int32_t c) {
  return utf8proc_get_property(c)->combining_class;
}

std::vector<utf8proc_int32_t> decompose(std::u32string_view text) {
  std::vector<utf8proc_int32_t> result;
  result.reserve(text.size());
  std::array<utf8proc_int32_t, 32> buffer;  // the longest canonical decomposition has 4
  for (const char32_t c : text) {
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), buffer.data(), buffer.size(),
                                               UTF8PROC_DECOMPOSE, nullptr);
    if (count < 0 || count > static_cast<utf8proc_ssize_t>(buffer.size()))
      fail(ErrorCode::kInternal, "cannot decompose U+{:04X}", static_cast<uint32_t>(c));
    result.insert(result.end(), buffer.begin(), buffer.begin() + count);
  }
  return result;
}

// utf8proc orders marks by neighbour swaps, quadratic in the run's length; so they are sorted here.
void order_marks(std::vector<utf8proc_int32_t>& text) {
  auto begin = text.begin();
  while (begin != text.end()) {
    begin = std::find_if(begin, text.end(), [](auto c) { return combining_class(c) != 0; });
    const auto end = std::find_if(begin, text.end(), [](auto c) { return combining_class(c) == 0; });
    std::stable_sort(begin, end, [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    begin = end;
  }
}

}  // namespace

char32_t next_code_point(std::string_view text, size_t& position) {
  const auto byte = static_cast<uint8_t>(text[position++]);
  if (byte < 0x80) return byte;
  const Lead lead = lead_of(byte);
  if (lead.following == 0) return kReplacement;
  char32_t c = byte & (0x3F >> lead.following);
  for (int i = 0; i < lead.following; ++i) {
    if (position == text.size()) return kReplacement;
    const auto next = static_cast<uint8_t>(text[position]);
    const bool fits = i == 0 ? next >= lead.first && next <= lead.last : is_continuation(text[position]);
    if (!fits) return kReplacement;
    c = (c << 6) | (next & 0x3F);
    ++position;
  }
  return c;
}

char32_t previous_code_point(std::string_view text, size_t& position) {
  do --position;
  while (position > 0 && is_continuation(text[position]));
  size_t start = position;
  return next_code_point(text, start);
}

std::u32string decode_utf8(std::string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (size_t position = 0; position < text.size();) result.push_back(next_code_point(text, position));
  return result;
}

void append_utf8(std::string& text, char32_t c) {
  if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
  const auto tail = [c](int shift) { return static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += {static_cast<char>(0xC0 | (c >> 6)), tail(0)};
  } else if (c < 0x10000) {
    text += {static_cast<char>(0xE0 | (c >> 12)), tail(6), tail(0)};
  } else {
    text += {static_cast<char>(0xF0 | (c >> 18)), tail(12), tail(6), tail(0)};
  }
}

std::string encode_utf8(std::u32string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char32_t c : text) append_utf8(result, c);
  return result;
}

std::string valid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t position = 0; position < text.size();) append_utf8(result, next_code_point(text, position));
  return result;
}

bool is_letter(char32_t c) {
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_number(char32_t c) {
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO;
}

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  const auto kind = category(c);
  return c == 0x85 || (kind >= UTF8PROC_CATEGORY_ZS && kind <= UTF8PROC_CATEGORY_ZP);
}

std::u32string to_lower(std::u32string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (const char32_t c : text) {
    if (c == U'\u0130')
      result += U"i\u0307";  // the one lower case that is two code points (SpecialCasing.txt)
    else
      result += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  }
  return result;
}

std::u32string nfc(std::u32string_view text) {
  if (std::all_of(text.begin(), text.end(), [](char32_t c) { return c < 0x300; })) return std::u32string(text);
  auto points = decompose(text);
  order_marks(points);
  const auto count = utf8proc_normalize_utf32(points.data(), static_cast<utf8proc_ssize_t>(points.size()),
                                              static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (count < 0) fail(ErrorCode::kInternal, "cannot compose text: {}", utf8proc_errmsg(count));
  return std::u32string(points.begin(), points.begin() + count);
}

}  // namespace gesso
