#include "pipeline/wildcards.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/unicode.h"
#include "text/prompt.h"
#include "text/words.h"

namespace gesso {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "__";
constexpr size_t kLargestFile = size_t{4} << 20;
constexpr int kMostReplacements = 1000, kMostNamed = 12;

bool is_name(std::string_view name) {
  if (name.empty()) return false;
  for (size_t at = 0; at < name.size();) {
    const char32_t c = next_code_point(name, at);
    if (!is_letter(c) && !is_number(c) && c != U'_' && c != U'-' && c != U'.' && c != U'/') return false;
  }
  return true;
}

/// SplitMix64 (Steele et al. 2014): a stream that is the same everywhere, unlike the library's distributions.
class Choices {
 public:
  explicit Choices(uint64_t seed) : state_(seed) {}
  size_t below(size_t count) {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return static_cast<size_t>((z ^ (z >> 31)) % count);
  }

 private:
  uint64_t state_;
};

class Filler {
 public:
  Filler(const fs::path& folder, int64_t seed) : folder_(folder), choices_(static_cast<uint64_t>(seed)) {
    if (std::error_code ignored; !fs::is_directory(folder, ignored))
      fail(ErrorCode::kNotFound, "the folder of wildcards {} is not there", quoted(folder));
  }

  std::string fill(std::string text) {
    for (size_t at = text.find(kMark); at != text.npos; at = text.find(kMark, at)) {
      const size_t end = text.find(kMark, at + kMark.size());
      if (end == text.npos) break;
      const std::string name = text.substr(at + kMark.size(), end - at - kMark.size());
      if (!is_name(name)) {
        at = end;  // which may begin another one
        continue;
      }
      if (++replaced_ > kMostReplacements)
        fail(ErrorCode::kUsage, "more than {} wildcards were filled in: does '{}' name itself?", kMostReplacements,
             name);
      const std::vector<std::string>& lines = lines_of(name);
      text.replace(at, end + kMark.size() - at, lines[choices_.below(lines.size())]);
      if (text.size() > kMaxPromptBytes)
        fail(ErrorCode::kUsage, "the prompt has more than {} bytes with its wildcards filled in", kMaxPromptBytes);
    }
    return text;
  }

 private:
  const std::vector<std::string>& lines_of(const std::string& name) {
    if (const auto known = known_.find(name); known != known_.end()) return known->second;
    const fs::path path = folder_ / (name + ".txt");
    std::error_code error;
    const fs::path real = fs::weakly_canonical(path, error), root = fs::canonical(folder_, error);
    const auto [end, ignored] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
    if (name.starts_with('/') || end != root.end())
      fail(ErrorCode::kUsage, "the wildcard '{}' leads out of its folder", name);
    if (!fs::is_regular_file(real, error))
      fail(ErrorCode::kNotFound, "there is no {}.txt in the folder of wildcards {}; there are: {}", name,
           quoted(folder_), fmt::join(names(), ", "));
    std::vector<std::string> lines;
    const std::string text = valid_utf8(read_file(real, kLargestFile));
    for (size_t begin = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; begin < text.size();) {
      const size_t line_end = std::min(text.find('\n', begin), text.size());
      const std::string_view line = trimmed(std::string_view(text).substr(begin, line_end - begin));
      if (!line.empty() && !line.starts_with('#') && line.find('\0') == line.npos) lines.emplace_back(line);
      begin = line_end + 1;
    }
    if (lines.empty()) fail(ErrorCode::kNotFound, "the wildcard file {} has no line to choose", quoted(path));
    return known_[name] = std::move(lines);
  }

  std::set<std::string> names() const {
    std::set<std::string> found;
    std::error_code error;
    for (auto entry = fs::recursive_directory_iterator(folder_, fs::directory_options::skip_permission_denied, error);
         !error && entry != fs::recursive_directory_iterator() && found.size() < kMostNamed; entry.increment(error))
      if (entry->path().extension() == ".txt")
        found.insert(entry->path().lexically_relative(folder_).replace_extension().string());
    return found;
  }

  fs::path folder_;
  Choices choices_;
  std::map<std::string, std::vector<std::string>> known_;
  int replaced_ = 0;
};

}  // namespace

std::string fill_wildcards(std::string_view text, const fs::path& folder, int64_t seed) {
  return Filler(folder, seed).fill(std::string(text));
}

}  // namespace gesso
