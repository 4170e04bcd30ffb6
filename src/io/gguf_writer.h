#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "io/tensor_writer.h"

namespace gesso {

/// Metadata of the types that writing has a use for.
using GgufMetadata = std::map<std::string, std::variant<std::string, uint32_t, std::vector<std::string>>>;

/// Writes a GGUF file of version 3. Metadata are written in the order of their keys, but for those that the file itself
/// decides: general.alignment and general.quantization_version.
class GgufWriter final : public TensorWriter {
 public:
  /// Throws kUsage for a name twice, sizes beyond 2^63, a row that is no whole number of blocks, or a type that GGUF
  /// does not have; kIo when the target cannot be written.
  GgufWriter(const std::filesystem::path& target, std::vector<TensorInfo> tensors, const GgufMetadata& metadata = {});
};

}  // namespace gesso
