#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/tensor_file.h"

namespace gesso {

/// One component of a model in the folder layout of diffusers.
struct DiffusersPart {
  std::shared_ptr<const TensorFile> file;
  std::map<std::string, std::string> metadata;  ///< its config.json and the scheduler's, as metadata keys of ours
};

/// Whether `path` is a folder with a model_index.json, or with a unet/ or transformer/ folder.
bool is_diffusers_folder(const std::filesystem::path& path);

/// Opens the components: every subfolder that holds safetensors files (sharded or not; the plain precision before
/// variants such as fp16). Throws kBadFile when there is none, and as open_tensor_files does.
std::vector<DiffusersPart> open_diffusers_folder(const std::filesystem::path& path);

}  // namespace gesso
