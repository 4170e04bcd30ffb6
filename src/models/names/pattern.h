#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gesso {

/// The numbers that the slots of a pattern stood for, in order.
using Numbers = std::vector<int>;

/// Patterns for tensor names: `#` stands for any number (no leading zeros, at most six digits), `+` for any number but
/// 0; everything else stands for itself. Returns how much of `text` the pattern covers when it is a prefix of it.
/// The numbers are appended to `numbers` when given.
std::optional<size_t> match_prefix(std::string_view pattern, std::string_view text, Numbers* numbers = nullptr);

/// Whether the pattern covers the whole text.
bool match(std::string_view pattern, std::string_view text, Numbers* numbers = nullptr);

/// The text with every run of digits replaced by `#` (and `+` by `#`): what a name and the patterns that may match it
/// have in common.
std::string form_of(std::string_view text);

}  // namespace gesso
