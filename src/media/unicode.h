#pragma once
#include <string>
#include <string_view>

#include "base/unicode.h"

namespace gesso {

/// Conversions for metadata; none fails: what is not a character becomes U+FFFD.
std::string utf8_to_utf16be(std::string_view text);
/// An odd last byte is dropped.
std::string utf16_to_utf8(std::string_view bytes, bool big_endian);
std::string latin1_to_utf8(std::string_view bytes);

}  // namespace gesso
