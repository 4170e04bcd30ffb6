#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace gesso {

class Device;

/// Memory of a device. Destroying it gives the memory back. `data` is null where a device has no addressable memory
/// (meta).
class Storage {
 public:
  Storage(Device& device, void* data, int64_t bytes) : device_(device), data_(data), bytes_(bytes) {}
  virtual ~Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Device& device() const { return device_; }
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  Device& device_;
  void* data_;
  int64_t bytes_;
};

/// A value: a contiguous row-major array on a device. Copies share storage. An empty Tensor (default constructed) is
/// false.
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::shared_ptr<Storage> storage, DType dtype, const Shape& shape, int64_t byte_offset = 0)
      : storage_(std::move(storage)), shape_(shape), offset_(byte_offset), dtype_(dtype) {}

  explicit operator bool() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  int64_t dim(int axis) const { return shape_[axis]; }
  int64_t elements() const { return shape_.elements(); }
  int64_t bytes() const { return elements() * size_of(dtype_); }
  DType dtype() const { return dtype_; }
  Device& device() const { return storage_->device(); }

  template <typename T>
  T* data() const {
    return reinterpret_cast<T*>(raw());
  }
  void* raw() const {
    auto* base = static_cast<std::byte*>(storage_->data());
    return base ? base + offset_ : nullptr;
  }

  /// The same elements under another shape with as many of them.
  Tensor reshape(const Shape& shape) const;
  /// Elements [begin, end) of the outermost axis, sharing storage.
  Tensor slice(int64_t begin, int64_t end) const;

 private:
  std::shared_ptr<Storage> storage_;
  Shape shape_;
  int64_t offset_ = 0;
  DType dtype_ = DType::kF32;
};

}  // namespace gesso
