#include "text/charsmap.h"

#include <utf8proc.h>

#include <cstring>

#include "base/error.h"
#include "base/unicode.h"

namespace gesso {
namespace {

uint32_t read_u32(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// A unit of the trie, as the Darts library packs it: a value, or label, leaf flag and offset to the children.
bool has_leaf(uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
uint32_t label(uint32_t unit) {
  return unit & (0x80000000u | 0xffu);
}
uint32_t offset(uint32_t unit) {
  return unit >> 10 << ((unit & 0x200u) >> 6);
}

}  // namespace

Charsmap::Charsmap(std::string_view blob) {
  if (blob.empty()) return;
  const uint32_t bytes = blob.size() < 4 ? 0 : read_u32(blob);
  if (bytes == 0 || bytes % 4 != 0 || bytes > blob.size() - 4)
    fail(ErrorCode::kBadFile, "the normalisation rules of the tokenizer are damaged");
  for (size_t i = 0; i < bytes; i += 4) units_.push_back(read_u32(blob.substr(4 + i, 4)));
  replacements_ = blob.substr(4 + bytes);
}

std::optional<std::string_view> Charsmap::find(std::string_view text) const {
  if (units_.empty()) return std::nullopt;
  size_t at = offset(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    at ^= byte;
    if (byte == 0 || at >= units_.size() || label(units_[at]) != byte) return std::nullopt;
    const uint32_t unit = units_[at];
    at ^= offset(unit);
    if (!has_leaf(unit)) continue;
    const size_t begin = at < units_.size() ? units_[at] & 0x7fffffffu : replacements_.size();
    if (begin >= replacements_.size()) return std::nullopt;
    const std::string_view rest = std::string_view(replacements_).substr(begin);
    return rest.substr(0, rest.find('\0'));
  }
  return std::nullopt;
}

std::string Charsmap::normalise(std::string_view text) const {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    char32_t before = next_code_point(text, end);
    utf8proc_int32_t state = 0;
    for (size_t next = end; next < text.size(); end = next) {
      const char32_t c = next_code_point(text, next);
      if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before), static_cast<utf8proc_int32_t>(c),
                                           &state))
        break;
      before = c;
    }
    const std::string_view cluster = text.substr(begin, end - begin);
    begin = end;
    constexpr size_t kWhole = 6;
    if (const auto whole = cluster.size() < kWhole ? find(cluster) : std::nullopt) {
      result += *whole;
      continue;
    }
    for (size_t i = 0; i < cluster.size();) {
      const size_t first = i;
      next_code_point(cluster, i);
      const std::string_view letter = cluster.substr(first, i - first);
      result += find(letter).value_or(letter);
    }
  }
  return result;
}

}  // namespace gesso
