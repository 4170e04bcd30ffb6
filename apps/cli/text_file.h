#pragma once
#include <string>

namespace cli {

/// The text of a file, without a byte-order mark and without the line break at its end; at most 1 MiB. Throws Failure.
std::string read_text_file(const std::string& path);

}  // namespace cli
