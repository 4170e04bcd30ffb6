#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "io/tensor_file.h"

namespace gesso {

/// Writes a model file tensor by tensor, so that a model larger than memory can be converted. Names, types and shapes
/// are known first; then the bytes follow in that order, in pieces of any size. Nothing is visible under the target's
/// name before finish().
class TensorWriter {
 public:
  virtual ~TensorWriter() = default;

  /// The next bytes. Throws kInternal when more come than the shapes say; kIo with the bytes needed when the disk is
  /// full.
  void write(std::span<const std::byte> bytes);
  /// To be called after the last bytes: the whole file can be read at the path returned, which lasts until finish().
  /// Throws kInternal when bytes are missing.
  const std::filesystem::path& complete();
  /// Completes the file and puts it in place.
  void finish();

  /// With their offsets and sizes.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  /// The size of the whole file.
  uint64_t file_bytes() const { return header_bytes_ + data_bytes_; }

 protected:
  /// `tensors`: name, dtype and shape are used; offset (a multiple of `alignment`) and bytes are computed. Throws
  /// kUsage for a name twice or sizes beyond 2^63; kIo when the target cannot be written.
  TensorWriter(const std::filesystem::path& target, std::vector<TensorInfo> tensors, uint64_t alignment);
  /// Writes the header, to be called once; refuses (kIo) when the disk has too little room for the whole file.
  void begin(const std::string& header);

  AtomicFile file_;

 private:
  void put(std::span<const std::byte> bytes);
  /// On to the tensor that the next byte is of, with padding before it.
  void advance();

  std::vector<TensorInfo> tensors_;
  uint64_t header_bytes_ = 0, data_bytes_ = 0;
  uint64_t written_ = 0;  ///< bytes of data, padding included
  size_t next_ = 0;       ///< the tensor whose bytes come next
};

}  // namespace gesso
