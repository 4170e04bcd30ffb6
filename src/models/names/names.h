#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/names/probe.h"
#include "tensor/shape.h"

namespace gesso {

/// Names and shapes of tensors (those of a file under one prefix, say), for looking up by pattern. The order is that of
/// the names, whatever the order in the file.
class Names {
 public:
  struct Entry {
    std::string name;
    Shape shape;
    size_t tensor = 0;  ///< index in the file
  };

  explicit Names(std::vector<Entry> entries);

  std::span<const Entry> entries() const { return entries_; }
  /// The first tensor that the probe describes, or null.
  const Entry* find(const Probe& probe) const;
  bool has(std::string_view pattern) const { return find({pattern}) != nullptr; }
  /// One more than the largest number in slot `slot` of the names that begin with the pattern; 0 when none does.
  int count(std::string_view pattern, size_t slot) const;

 private:
  std::vector<Entry> entries_;
  std::map<std::string, std::vector<size_t>, std::less<>> by_form_;
};

}  // namespace gesso
