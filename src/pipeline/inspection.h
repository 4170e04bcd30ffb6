#pragma once
#include "pipeline/engine.h"

namespace gesso {

/// What files or folders hold together (see Engine::inspect).
Inspection inspect_files(const std::vector<std::filesystem::path>& paths);

}  // namespace gesso
