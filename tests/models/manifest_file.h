#pragma once
#include "io/tensor_file.h"
#include "models/manifest.h"

namespace gesso {

/// Names and shapes of a real file, without its values.
class ManifestFile : public TensorFile {
 public:
  explicit ManifestFile(const char* name) : manifest_(load_manifest(name)), path_(name) {}
  const std::filesystem::path& path() const override { return path_; }
  std::string_view format() const override { return "manifest"; }
  const std::vector<TensorInfo>& tensors() const override { return manifest_.tensors; }
  const std::map<std::string, std::string>& metadata() const override { return manifest_.metadata; }
  std::span<const std::byte> read(const TensorInfo&) const override { return {}; }

 private:
  Manifest manifest_;
  std::filesystem::path path_;
};

}  // namespace gesso
