#include "pipeline/inspection.h"

#include "models/inspect.h"
#include "pipeline/model_files.h"

namespace gesso {

namespace {

/// Opens and recognises the files and hands them to `report`.
template <typename Report>
Inspection inspected(const std::vector<std::filesystem::path>& paths, const Report& report) {
  std::vector<ModelFile> opened;
  for (const auto& path : paths)
    for (ModelFile& file : open_model_files(nullptr, path)) opened.push_back(std::move(file));
  std::vector<RecognisedFile> files;
  for (const ModelFile& file : opened)
    files.push_back({file.file->path(), file.file->format(), file.file->tensors(), file.recognition, file.metadata});
  const ModelReport found = report(files);
  Inspection inspection{found.json, ""};
  for (const std::string& line : found.lines) inspection.text += line + "\n";
  return inspection;
}

}  // namespace

Inspection inspect_files(const std::vector<std::filesystem::path>& paths) {
  return inspected(paths, [](const auto& files) { return describe(files); });
}

Inspection inspect_tensors(const std::vector<std::filesystem::path>& paths) {
  return inspected(paths, [](const auto& files) { return list_tensors(files); });
}

}  // namespace gesso
