#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace gesso {

/// One file of a zip archive: where its bytes lie, as they are stored.
struct ZipEntry {
  std::string name;
  uint64_t offset = 0;  ///< of its bytes, from the beginning of the archive
  uint64_t bytes = 0;   ///< as stored
  uint16_t method = 0;  ///< 0: stored plainly; anything else is a compression
};

/// Reads the central directory of the zip archive whose content is `file` (PKWARE APPNOTE 6.3, with the zip64 records);
/// `path` is for messages. Every entry lies inside `file`. Memory stays within a small multiple of the directory.
/// Throws kBadFile for a damaged or truncated archive, an encrypted entry, a name twice; kUnsupported for one in
/// several volumes.
std::vector<ZipEntry> read_zip_directory(std::span<const std::byte> file, const std::filesystem::path& path);

}  // namespace gesso
