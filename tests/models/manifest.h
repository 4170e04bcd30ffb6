#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/tensor_file.h"

namespace gesso {

/// The names, shapes and types of a real file, from tests/data/manifests/NAME.json.gz.
struct Manifest {
  std::string name;
  bool names_only = false;  ///< every shape is that of a scalar
  bool complete = true;
  std::vector<TensorInfo> tensors;
  std::map<std::string, std::string> metadata;
};

/// Throws std::runtime_error when the manifest is not there or damaged.
Manifest load_manifest(std::string_view name);

/// The names of all manifests, sorted.
std::vector<std::string> manifest_names();

}  // namespace gesso
