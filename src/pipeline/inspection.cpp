#include "pipeline/inspection.h"

#include "models/inspect.h"
#include "pipeline/model_files.h"

namespace gesso {

Inspection inspect_files(const std::vector<std::filesystem::path>& paths) {
  std::vector<ModelFile> opened;
  for (const auto& path : paths)
    for (ModelFile& file : open_model_files(nullptr, path)) opened.push_back(std::move(file));
  std::vector<RecognisedFile> files;
  for (const ModelFile& file : opened)
    files.push_back({file.file->path(), file.file->format(), file.file->tensors(), file.recognition});
  const ModelReport report = describe(files);
  Inspection inspection{report.json, ""};
  for (const std::string& line : report.lines) inspection.text += line + "\n";
  return inspection;
}

}  // namespace gesso
