#include "pipeline/inspection.h"

#include "models/inspect.h"
#include "pipeline/model_files.h"

namespace gesso {

Inspection inspect_files(const std::vector<std::filesystem::path>& paths) { return {}; }

}  // namespace gesso
