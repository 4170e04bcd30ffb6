#pragma once
#include <span>

#include "models/family.h"

namespace gesso {

/// Every family and shared component that this version knows by its tensors. In the order in which files are tried: a
/// family whose signature others could be taken for comes before them.
std::span<const Family* const> families();

/// The family of that id, or null.
const Family* find_family(std::string_view id);

}  // namespace gesso
