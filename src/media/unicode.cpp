#include "media/unicode.h"

namespace gesso {
namespace {

void append_utf16be(std::string& bytes, char32_t unit) {
  bytes += static_cast<char>(unit >> 8);
  bytes += static_cast<char>(unit);
}

}  // namespace

std::string utf8_to_utf16be(std::string_view text) {
  std::string bytes;
  for (size_t position = 0; position < text.size();) {
    const char32_t code = next_code_point(text, position);
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
