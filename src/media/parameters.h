#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gesso {

/// The text of a picture's making that AUTOMATIC1111 established and most tools read:
///
///     a prompt, of any number of lines
///     Negative prompt: what it shall not be
///     Steps: 20, Sampler: Euler, Seed: 1, Model: "a, b"
///
/// It cannot tell a prompt that itself has lines like the second or third from the real thing; PictureInfo keeps the
/// request beside it for that.
struct Parameters {
  std::string prompt, negative;
  std::vector<std::pair<std::string, std::string>> fields;  ///< in the order of the last line

  bool operator==(const Parameters&) const = default;
};

/// The text. Values that a reader would misread (commas, colons, line ends, quotes at their ends, blanks around, or
/// nothing at all) are written as JSON strings. Throws kUsage for a field name that the format cannot hold: it needs
/// two or more letters, digits, `_`, `-`, `/` or blanks, none of the last three first.
std::string format_parameters(const Parameters& parameters);

/// Reads it back; never fails. As AUTOMATIC1111 does, takes the last line for fields only if it has three or more, and
/// trims every line.
Parameters parse_parameters(std::string_view text);

}  // namespace gesso
