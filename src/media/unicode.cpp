#include "media/unicode.h"

#include <utf8proc.h>

namespace gesso {
namespace {

constexpr char32_t kReplacement = 0xfffd;

/// Takes one code point off the front of `text`; kReplacement for a byte that begins none.
char32_t next_code_point(std::string_view& text) {
  utf8proc_int32_t code = 0;
  const auto used = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     static_cast<utf8proc_ssize_t>(text.size()), &code);
  text.remove_prefix(used > 0 ? static_cast<size_t>(used) : 1);
  return used > 0 ? static_cast<char32_t>(code) : kReplacement;
}

void append_utf16be(std::string& bytes, char32_t unit) {
  bytes += static_cast<char>(unit >> 8);
  bytes += static_cast<char>(unit);
}

}  // namespace

void append_utf8(std::string& text, char32_t code_point) {
  utf8proc_uint8_t buffer[4];
  const bool valid = utf8proc_codepoint_valid(static_cast<utf8proc_int32_t>(code_point));
  const auto used = utf8proc_encode_char(static_cast<utf8proc_int32_t>(valid ? code_point : kReplacement), buffer);
  text.append(reinterpret_cast<const char*>(buffer), static_cast<size_t>(used));
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) append_utf8(valid, next_code_point(text));
  return valid;
}

std::string utf8_to_utf16be(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const char32_t code = next_code_point(text);
    if (code >= 0x10000) {
      append_utf16be(bytes, 0xd800 + ((code - 0x10000) >> 10));
      append_utf16be(bytes, 0xdc00 + ((code - 0x10000) & 0x3ff));
    } else {
      append_utf16be(bytes, code);
    }
  }
  return bytes;
}

std::string utf16_to_utf8(std::string_view bytes, bool big_endian) {
  const auto unit = [&](size_t i) {
    const auto first = static_cast<unsigned char>(bytes[i]), second = static_cast<unsigned char>(bytes[i + 1]);
    return static_cast<char32_t>(big_endian ? first << 8 | second : second << 8 | first);
  };
  std::string text;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    char32_t code = unit(i);
    if (code >= 0xd800 && code < 0xdc00 && i + 3 < bytes.size() && (unit(i + 2) & 0xfc00) == 0xdc00) {
      code = 0x10000 + ((code - 0xd800) << 10) + (unit(i + 2) - 0xdc00);
      i += 2;
    }
    append_utf8(text, code);
  }
  return text;
}

std::string latin1_to_utf8(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) append_utf8(text, static_cast<unsigned char>(c));
  return text;
}

}  // namespace gesso
