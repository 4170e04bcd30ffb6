#include "server/uploads.h"

#include <fmt/format.h>

#include <fstream>

#include "server/api_error.h"
#include "server/results.h"

namespace server {
namespace {

/// FNV-1a (Fowler, Noll, Vo), 64 bits: a name, not a secret.
uint64_t digest(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

Upload::~Upload() {
  std::error_code ignored;
  std::filesystem::remove_all(path_.parent_path(), ignored);
}

UploadStore::UploadStore(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_);
}

UploadPointer UploadStore::keep(std::string_view bytes) const {
  const std::filesystem::path path = folder_ / new_job_id() / fmt::format("picture-{:016x}", digest(bytes));
  std::error_code error;
  std::filesystem::create_directory(path.parent_path(), error);
  auto upload = std::make_shared<const Upload>(path);  // from here on it leaves nothing
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw ApiError(507, "io", "a picture of the request cannot be kept: the server's disk takes no more");
  return upload;
}

}  // namespace server
