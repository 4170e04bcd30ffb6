#include "text/number.h"

#include <array>
#include <charconv>
#include <cmath>

namespace gesso {

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);  // from_chars takes no plus
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || !std::isfinite(static_cast<float>(number))) return std::nullopt;
  return number;
}

std::string print_number(float number) {
  std::array<char, 200> digits;  // the smallest float needs 47 places, the largest 39 digits
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::fixed);
  return std::string(digits.data(), result.ptr);
}

}  // namespace gesso
