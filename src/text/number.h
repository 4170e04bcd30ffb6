#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace gesso {

/// The decimal number that is the whole of `text`, whatever the locale; nothing when it is none, or none that a finite
/// float can hold.
std::optional<double> parse_number(std::string_view text);

/// The shortest decimal digits, without exponent, that read back as the same float.
std::string print_number(float number);

}  // namespace gesso
