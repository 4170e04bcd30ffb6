#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace gesso {

/// Puts in place of each __name__ a line of name.txt in the folder, or of a/b.txt for __a/b__, as the wildcard
/// extensions of the web UIs do: blank lines and those that begin with # do not count, and lines may have wildcards
/// themselves. Which lines, the seed alone decides. A name has letters, digits, and _ - . / between other characters;
/// __ around anything else is text. Throws kNotFound for a file that is not there or has no line, naming those that
/// are; kUsage for a name that leads out of the folder, files that name each other in a circle, or a result of more
/// than 64 KiB; and as read_file does.
std::string fill_wildcards(std::string_view text, const std::filesystem::path& folder, int64_t seed);

}  // namespace gesso
