#include "models/names/inverse.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.h"

namespace gesso {
namespace {

/// Ten times what the largest models take: their numbers stay below a hundred, but a file may say anything.
constexpr size_t kMostCandidates = 1000000;

/// Every way of writing numbers into the slots of a pattern, appended to `texts`.
void fill(std::string_view pattern, int most, const std::string& before, std::vector<std::string>& texts) {
  const size_t slot = pattern.find('#');
  if (slot == pattern.npos) {
    if (texts.size() == kMostCandidates)
      fail(ErrorCode::kUnsupported,
           "names: the parameters are numbered up to {}, which is beyond every model that is known", most);
    texts.push_back(before + std::string(pattern));
    return;
  }
  const std::string start = before + std::string(pattern.substr(0, slot));
  for (int number = 0; number <= most; ++number)
    fill(pattern.substr(slot + 1), most, start + std::to_string(number), texts);
}

}  // namespace

std::vector<std::string> candidates(std::span<const Rule> rows, int most) {
  std::vector<std::string> names;
  for (const Rule& row : rows)
    for (const Leaf& leaf : row.leaves) {
      if (leaf.theirs.empty() && !leaf.ours.empty()) continue;  // another row's
      const std::string layer = std::string(row.from) + std::string(leaf.theirs) + (leaf.theirs.empty() ? "" : ".");
      fill(layer + "weight", most, "", names);
      if (leaf.bias) fill(layer + "bias", most, "", names);
    }
  return names;
}

std::vector<std::string> candidates(std::span<const Fused> rows, int most) {
  std::vector<std::string> names;
  for (const Fused& row : rows)
    for (const char* parameter : {"weight", "bias"}) fill(std::string(row.from) + parameter, most, "", names);
  return names;
}

int largest_number(const std::set<std::string>& names) {
  int largest = 0;
  for (const std::string& name : names)
    for (size_t at = 0; at < name.size(); at = std::min(name.find('.', at), name.size() - 1) + 1) {
      int number = 0;
      const auto [end, error] = std::from_chars(name.data() + at, name.data() + name.size(), number);
      if (error == std::errc() && (end == name.data() + name.size() || *end == '.'))
        largest = std::max(largest, number);
    }
  return largest;
}

std::vector<Renamed> invert(const Place& place, const std::vector<std::string>& candidates,
                            const std::set<std::string>& ours) {
  std::vector<Renamed> result;
  std::set<std::string> done;
  for (const std::string& name : candidates) {
    std::vector<Placement> parts = place(name);
    const auto wanted = [&](const Placement& p) { return ours.contains(p.name) && !done.contains(p.name); };
    if (parts.empty() || !std::ranges::all_of(parts, wanted)) continue;
    for (const Placement& p : parts) done.insert(p.name);
    result.push_back({name, std::move(parts)});
  }
  return result;
}

std::vector<Renamed> same_names(const std::set<std::string>& ours) {
  std::vector<Renamed> result;
  for (const std::string& name : ours) result.push_back({name, {{.name = name}}});
  return result;
}

}  // namespace gesso
