#pragma once
#include "pipeline/engine.h"

namespace gesso {

/// What files or folders hold together (see Engine::inspect).
Inspection inspect_files(const std::vector<std::filesystem::path>& paths);

/// Every tensor in them, and what it is for (see list_tensors).
Inspection inspect_tensors(const std::vector<std::filesystem::path>& paths);

}  // namespace gesso
