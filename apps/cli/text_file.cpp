#include "text_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "library.h"

namespace cli {

std::string read_text_file(const std::string& path) {
  constexpr size_t kLimit = size_t{1} << 20;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) throw Failure(kExitFailure, fmt::format("file not found: '{}'", path));
  if (!std::filesystem::is_regular_file(path, ignored))
    throw Failure(kExitFailure, fmt::format("cannot read '{}': not a regular file", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure(kExitFailure, fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  std::string text(kLimit + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kLimit) throw usage(fmt::format("'{}' is too large: a text has at most {} bytes", path, kLimit));
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace cli
