#pragma once
#include <string>
#include <vector>

namespace cli {

/// The text of a file, without a byte-order mark and without the line break at its end; at most 1 MiB. Throws Failure.
std::string read_text_file(const std::string& path);

/// Its lines that are not blank, without blanks at their ends.
std::vector<std::string> read_lines(const std::string& path);

}  // namespace cli
