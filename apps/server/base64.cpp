#include "server/base64.h"

#include <array>
#include <cstdint>

namespace server {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> kValues = [] {
  std::array<int8_t, 256> values{};
  for (auto& value : values) value = -1;
  for (size_t i = 0; i < kAlphabet.size(); ++i)
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
  return values;
}();

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  const auto byte = [&](size_t i) {
    return i < bytes.size() ? static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) : 0u;
  };
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const uint32_t word = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (int digit = 0; digit < 4; ++digit)
      out += i + static_cast<size_t>(digit) > bytes.size() ? '=' : kAlphabet[word >> (18 - 6 * digit) & 63];
  }
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.starts_with("data:")) {
    const size_t comma = text.find(',');
    if (comma == text.npos || comma > 200 || !text.substr(0, comma).ends_with(";base64")) return std::nullopt;
    text.remove_prefix(comma + 1);
  }
  std::string out;
  out.reserve(text.size() / 4 * 3);
  uint32_t word = 0;
  int digits = 0, padding = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const int value = kValues[static_cast<unsigned char>(c)];
    if (value < 0 || padding > 0) return std::nullopt;
    word = word << 6 | static_cast<uint32_t>(value);
    if (++digits % 4 == 0)
      for (const int shift : {16, 8, 0}) out += static_cast<char>(word >> shift & 255);
  }
  const int rest = digits % 4;
  if (digits == 0 || rest == 1 || (padding > 0 && rest + padding != 4)) return std::nullopt;
  if (rest >= 2) out += static_cast<char>(word >> (rest == 2 ? 4 : 10) & 255);
  if (rest == 3) out += static_cast<char>(word >> 2 & 255);
  return out;
}

}  // namespace server
