#pragma once
#include <filesystem>
#include <memory>
#include <string_view>

namespace server {

/// A picture that a client sent, as a file that only this server's work sees. It goes with the last that holds it.
class Upload {
 public:
  explicit Upload(std::filesystem::path path) : path_(std::move(path)) {}
  ~Upload();
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};
using UploadPointer = std::shared_ptr<const Upload>;

/// Where they lie. Thread-safe.
class UploadStore {
 public:
  /// Creates the folder, which is this process's alone, and empties it of what an interrupted one left. Throws
  /// std::filesystem::filesystem_error.
  explicit UploadStore(std::filesystem::path folder);
  /// The same bytes get a file of the same name, in a folder of its own: a recipe names files by their base names, and
  /// should not differ for the same request. Throws ApiError 507 when it cannot be written.
  UploadPointer keep(std::string_view bytes) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace server
