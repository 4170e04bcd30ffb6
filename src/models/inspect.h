#pragma once
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "models/recognise.h"

namespace gesso {

/// A model file that has been recognised.
struct RecognisedFile {
  std::filesystem::path path;
  std::string_view format;  ///< "safetensors" ...
  std::span<const TensorInfo> tensors;
  Recognition recognition;
  std::map<std::string, std::string> metadata = {};
};

/// What model files are together, for a person and for programs.
struct ModelReport {
  std::vector<std::string> lines;  ///< of the text
  Json json;
};

/// Family and variant, components present and missing, sizes and types, metadata, tokenizers inside, what was ignored
/// and what is unknown, and the command that runs the model, with FILE for each component that has to be given.
ModelReport describe(std::span<const RecognisedFile> files);

/// Every tensor of the files, in their order: {"path", "tensors": [{"name", "dtype", "shape", "bytes", "use"}]}, where
/// "use" is what it is for: the component, with our name of it where there is one, or why it is not used. The lines are
/// a table of the same.
ModelReport list_tensors(std::span<const RecognisedFile> files);

/// The path as a word of a POSIX shell, quoted where it has to be.
std::string shell_word(const std::filesystem::path& path);

}  // namespace gesso
