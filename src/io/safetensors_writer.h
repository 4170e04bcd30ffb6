#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "io/tensor_writer.h"

namespace gesso {

/// Writes a safetensors file. Data begin at a multiple of 8 bytes.
class SafetensorsWriter final : public TensorWriter {
 public:
  /// Throws kUsage for a name twice, a name that is not UTF-8 or `__metadata__`, sizes beyond 2^63, or a type in
  /// blocks; kIo when the target cannot be written.
  SafetensorsWriter(const std::filesystem::path& target, std::vector<TensorInfo> tensors,
                    const std::map<std::string, std::string>& metadata = {});
};

}  // namespace gesso
