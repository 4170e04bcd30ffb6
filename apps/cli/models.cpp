#include "models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "library.h"

namespace cli {
namespace {

namespace fs = std::filesystem;
std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (!value || !*value) return std::nullopt;
  return value;
}

std::optional<fs::path> first_model_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".safetensors") files.push_back(entry->path());
  if (files.empty()) return std::nullopt;
  return *std::ranges::min_element(files);
}

std::vector<fs::path> model_folders(const fs::path& picture) {
  std::vector<fs::path> folders = {fs::path("."), picture.parent_path()};
  std::istringstream listed(variable("GESSO_MODELS").value_or(""));
  for (std::string folder; std::getline(listed, folder, ':');)
    if (!folder.empty()) folders.emplace_back(folder);
  return folders;
}

std::optional<fs::path> find_by_name(const fs::path& name, const fs::path& picture) {
  std::error_code error;
  for (const fs::path& folder : model_folders(picture))
    if (fs::exists(folder / name, error)) return folder / name;
  const std::optional<fs::path> demo = find_demo_model();
  if (demo && demo->filename() == name) return demo;
  return std::nullopt;
}

}  // namespace

std::optional<fs::path> find_demo_model() {
  if (const auto named = variable("GESSO_DEMO_MODEL")) return fs::path(*named);
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  // build/release/apps/cli in the source tree, or bin of an installation
  for (int level = 0; level < 6 && !folder.empty(); ++level, folder = folder.parent_path())
    for (const char* place : {"models/demo", "share/gesso/models/demo"})
      if (auto model = first_model_in(folder / place)) return model;
  return std::nullopt;
}

std::string demo_model() {
  const auto model = find_demo_model();
  if (!model) throw usage("no model: name one with -m FILE (the model that ships in models/demo was not found)");
  return model->string();
}

void locate_recipe_files(Json& recipe, const Json& given, const Json& schema, const fs::path& picture) {
  for (const auto& property : schema["properties"].items()) {
    const std::string& field = property.key();
    if (!property.value()["x-cli"].contains("file") || !recipe.contains(field) || given.contains(field)) continue;
    const fs::path name = recipe[field].get<std::string>();
    const auto path = find_by_name(name, picture);
    if (!path)
      throw Failure(
          kExitFailure,
          fmt::format("'{}' was painted with '{}', which is not in the current folder, beside the picture or "
                      "in $GESSO_MODELS: name it with {}",
                      picture.string(), name.string(), property.value()["x-cli"]["options"].back().get<std::string>()));
    recipe[field] = path->string();
  }
}

}  // namespace cli
