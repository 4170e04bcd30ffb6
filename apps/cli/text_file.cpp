#include "text_file.h"

#include <fmt/format.h>

#include <algorithm>
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

std::vector<std::string> read_lines(const std::string& path) {
  constexpr const char* kBlanks = " \t\r";
  const std::string text = read_text_file(path);
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (const size_t first = line.find_first_not_of(kBlanks); first != line.npos)
      lines.push_back(line.substr(first, line.find_last_not_of(kBlanks) - first + 1));
    begin = end + 1;
  }
  return lines;
}

}  // namespace cli
