#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "io/tensor_file.h"

namespace gesso {

/// A model file that lies nowhere: the tensors that a manifest lists, with values of a pattern. A network built from it
/// takes the time of the real one and paints nothing.
class PatternFile final : public TensorFile {
 public:
  /// `manifest`: JSON, compressed by gzip, whose "tensors" maps names to extents. Every tensor is f16.
  PatternFile(std::string name, std::span<const std::byte> manifest);

  const std::filesystem::path& path() const override { return path_; }
  std::string_view format() const override { return "pattern"; }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  std::span<const std::byte> read(const TensorInfo& tensor) const override;

 private:
  std::filesystem::path path_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;
  std::vector<uint16_t> values_;  ///< as many as the largest tensor has; the others share them
};

}  // namespace gesso
