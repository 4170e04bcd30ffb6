#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace server {

/// Standard alphabet, padded (RFC 4648).
std::string base64_encode(std::string_view bytes);

/// The bytes of standard base64, with or without a "data:...;base64," prefix; blanks and line breaks are skipped.
/// Nullopt for anything else: another alphabet, wrong padding, nothing at all.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace server
