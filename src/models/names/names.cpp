#include "models/names/names.h"

#include <algorithm>

#include "models/names/pattern.h"

namespace gesso {
namespace {

bool fits(const Shape& shape, const std::vector<int64_t>& wanted) {
  if (wanted.empty()) return true;
  if (static_cast<size_t>(shape.rank()) != wanted.size()) return false;
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] != kAny && wanted[i] != shape[static_cast<int>(i)]) return false;
  return true;
}

}  // namespace

Names::Names(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  for (size_t i = 0; i < entries_.size(); ++i) by_form_[form_of(entries_[i].name)].push_back(i);
}

const Names::Entry* Names::find(const Probe& probe) const {
  const auto bucket = by_form_.find(form_of(probe.name));
  if (bucket == by_form_.end()) return nullptr;
  for (const size_t i : bucket->second)
    if (match(probe.name, entries_[i].name) && fits(entries_[i].shape, probe.shape)) return &entries_[i];
  return nullptr;
}

int Names::count(std::string_view pattern, size_t slot) const {
  int count = 0;
  for (const Entry& entry : entries_) {
    Numbers numbers;
    if (match_prefix(pattern, entry.name, &numbers) && slot < numbers.size())
      count = std::max(count, numbers[slot] + 1);
  }
  return count;
}

}  // namespace gesso
