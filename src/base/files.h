#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace gesso {

/// A UTF-8 path from a user, quoted for messages: 'name'.
std::string quoted(const std::filesystem::path& path);

/// A whole file mapped read-only. Throws kNotFound or kIo, naming the path and the system's reason, on failure; a
/// folder is refused. An empty file maps to an empty span.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Takes a part that was read out of this process's memory; it is read from the file again when it is needed.
  void forget(std::span<const std::byte> part) const;
  /// Asks the system to read a part ahead of its use. Returns at once or when the reads are under way.
  void will_need(std::span<const std::byte> part) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile(std::filesystem::path path, const std::byte* data, size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}
  std::filesystem::path path_;
  const std::byte* data_;
  size_t size_;
};

/// The file's bytes. Throws as MappedFile does, and kBadFile when it is larger than `limit` bytes.
std::string read_file(const std::filesystem::path& path, size_t limit);

/// A file written under a temporary name beside its target and renamed by commit(); destroyed before that, it leaves
/// nothing. Missing parent folders are created. Throws kIo naming the target.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }
  /// Overwrites bytes already written at `offset` (for headers known last).
  void write_at(uint64_t offset, std::span<const std::byte> bytes);
  /// Flushes to disk and renames. With `replace` false an existing target is an error (kIo) and is left alone.
  void commit(bool replace = true);
  const std::filesystem::path& target() const { return target_; }
  /// Where the bytes are until commit().
  const std::filesystem::path& temporary() const { return temporary_; }

 private:
  std::filesystem::path target_, temporary_;
  int fd_ = -1;
};

}  // namespace gesso
