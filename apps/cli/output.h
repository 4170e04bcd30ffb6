#pragma once
#include <optional>
#include <string>

namespace cli {

/// The name to save under: the given one; otherwise output.png, or, when that exists, output_0001.png and so on, so
/// that nothing is replaced that nobody named.
std::string output_name(const std::optional<std::string>& given);

/// Where the pictures of one of several requests go: numbered, so that the next one's do not replace them.
std::string numbered(const std::string& name);

/// Throws Failure when pictures could not be written under this name for a reason that can be known before painting: an
/// unknown format, a folder of that name, a folder that may not be written. `option` is the one that gives the name.
void check_output(const std::string& name, const char* option = "-o");

}  // namespace cli
