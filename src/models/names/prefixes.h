#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace gesso {

/// The prefixes under which tools put a component into a file and under which at least one of the names lies, more
/// telling ones first; "" (no prefix) is last.
std::vector<std::string> prefixes_of(const std::vector<std::string_view>& names);

}  // namespace gesso
