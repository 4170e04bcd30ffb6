#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "json.h"

namespace cli {

/// The model that ships with Gesso: $GESSO_DEMO_MODEL, or the first *.safetensors in models/demo of the source tree or
/// the installation that this program lies in. Throws Failure when there is none.
std::string demo_model();

/// As demo_model(), or nullopt.
std::optional<std::filesystem::path> find_demo_model();

/// Puts paths in place of the base names under which a picture's recipe names its model files. Looked for in the
/// current folder, beside the picture, in the folders of $GESSO_MODELS (separated by colons), and as the demo model.
/// Fields for which `given` has a value are left alone. Throws Failure naming the file and the option when one is not
/// found.
void locate_recipe_files(Json& recipe, const Json& given, const Json& schema, const std::filesystem::path& picture);

}  // namespace cli
