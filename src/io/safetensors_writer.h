#pragma once
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "io/tensor_file.h"

namespace gesso {

/// Writes a safetensors file tensor by tensor, so that a model larger than memory can be converted. Names, types and
/// shapes are known first; then the bytes follow in that order, in pieces of any size. Nothing is visible under the
/// target's name before finish(). Data begin at a multiple of 8 bytes.
class SafetensorsWriter {
 public:
  /// `tensors`: name, dtype and shape are used; offset and bytes are computed. Throws kUsage for a name twice, a name
  /// that is not UTF-8 or `__metadata__`, or sizes beyond 2^63; kIo when the target cannot be written.
  SafetensorsWriter(const std::filesystem::path& target, std::vector<TensorInfo> tensors,
                    const std::map<std::string, std::string>& metadata = {});

  /// The next bytes. Throws kInternal when more come than the shapes say.
  void write(std::span<const std::byte> bytes);
  /// Puts the file in place. Throws kInternal when bytes are missing.
  void finish();

  /// With their offsets and sizes.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }

 private:
  AtomicFile file_;
  std::vector<TensorInfo> tensors_;
  uint64_t left_ = 0;  ///< bytes still to come
};

}  // namespace gesso
