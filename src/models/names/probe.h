#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace gesso {

/// In Probe::shape: any extent.
inline constexpr int64_t kAny = -1;

/// A tensor that must be there: its name (a pattern, see pattern.h) and, when given, its shape.
struct Probe {
  std::string_view name;
  std::vector<int64_t> shape = {};  ///< kAny where the extent does not matter; empty: any shape
};

}  // namespace gesso
