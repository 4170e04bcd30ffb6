#include "sampling/names.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace gesso {
namespace {

constexpr size_t kLongestShown = 60;  // bytes of a name that a message repeats

/// Levenshtein distance.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// The name without control characters, cut between UTF-8 characters.
std::string shown(std::string_view name) {
  size_t length = std::min(name.size(), kLongestShown);
  while (length < name.size() && length > 0 && (static_cast<unsigned char>(name[length]) & 0xC0) == 0x80) --length;
  std::string text(name.substr(0, length));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return length < name.size() ? text + "..." : text;
}

}  // namespace

std::string folded_name(std::string_view name) {
  std::string folded;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '+') c = 'p';
    const bool letter_or_digit = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (letter_or_digit || static_cast<unsigned char>(c) >= 0x80) folded += c;
  }
  return folded;
}

void fail_unknown_name(std::string_view kind, std::string_view name, const std::vector<std::string_view>& known) {
  const std::string wanted = folded_name(name.substr(0, kLongestShown));
  std::string_view nearest;
  size_t least = wanted.size() / 2 + 1;  // further away than this is no misspelling
  for (std::string_view candidate : known) {
    const size_t distance = edit_distance(wanted, folded_name(candidate));
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  const std::string hint = nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest);
  fail(ErrorCode::kUsage, "unknown {} '{}'{}; known: {}", kind, shown(name), hint, fmt::join(known, ", "));
}

}  // namespace gesso
