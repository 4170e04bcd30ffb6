#pragma once
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace gesso {

/// One tensor of a file, as its header describes it.
struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  uint64_t offset = 0;  ///< where its bytes lie, counted as the format counts
  uint64_t bytes = 0;
};

/// An opened model file of any format: what is in it, and the bytes of each tensor. Opening validates every length, so
/// that read() cannot run past the file.
class TensorFile {
 public:
  virtual ~TensorFile() = default;
  virtual const std::filesystem::path& path() const = 0;
  virtual std::string_view format() const = 0;  ///< "safetensors", "PyTorch", ...
  /// In the order of the file.
  virtual const std::vector<TensorInfo>& tensors() const = 0;
  virtual const std::map<std::string, std::string>& metadata() const = 0;
  /// The stored bytes; valid while the file lives.
  virtual std::span<const std::byte> read(const TensorInfo& tensor) const = 0;
  /// What a person should know about how the file was read: which of several sets of weights was taken, what was left.
  virtual const std::vector<std::string>& notes() const {
    static const std::vector<std::string> none;
    return none;
  }
  /// Lets go of memory that read() of this tensor took, where there is any; it can be read again.
  virtual void done(const TensorInfo& tensor) const {}
  /// Lets the system read the tensor's bytes ahead, where they come from a disk. From any thread.
  virtual void will_need(const TensorInfo& tensor) const {}
};

/// Opens a file by its content (never by its name). Throws Error naming the file, what was expected and what was
/// found: kNotFound, kIo, kBadFile, kUnsupported.
std::shared_ptr<const TensorFile> open_tensor_file(const std::filesystem::path& path);

}  // namespace gesso
