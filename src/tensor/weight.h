#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace gesso {

/// A named parameter of a model, as ops see it: a shape, and a way to get its values. How the values are stored
/// (f16, quantised, patched by a LoRA, in a file) is the weight store's business.
class WeightData {
 public:
  explicit WeightData(std::string name, const Shape& shape) : name_(std::move(name)), shape_(shape) {}
  virtual ~WeightData() = default;
  WeightData(const WeightData&) = delete;
  WeightData& operator=(const WeightData&) = delete;

  const std::string& name() const { return name_; }
  const Shape& shape() const { return shape_; }
  /// The values in plain row-major order as a new tensor of the device, converted to `dtype` (f32, f16 or bf16).
  virtual Tensor read(Device& device, DType dtype) const = 0;
  /// The values on the host, as f32; for small parameters that a decision hangs on.
  virtual std::vector<float> values() const = 0;
  /// Rows of a [rows, c] parameter into y [rows.size(), c] (f32, f16 or bf16): a vocabulary is not read whole.
  virtual void read_rows(std::span<const int32_t> rows, Tensor& y) const = 0;
  /// Lets the system read what is stored ahead of its use, where it comes from a disk. From any thread.
  virtual void will_need() const {}

  /// The form a device keeps between uses (a reordered copy, say), owned by the weight and dropped with it or by
  /// release(). `make` is called when there is none or `fits` says the present one does not serve. Thread-safe.
  template <typename T, typename Fits, typename Make>
  std::shared_ptr<T> prepared(const Fits& fits, const Make& make) const {
    const std::lock_guard lock(mutex_);
    auto* held = dynamic_cast<Holder<T>*>(prepared_.get());
    if (held && fits(*held->value)) return held->value;
    std::shared_ptr<T> value = make();
    prepared_ = std::make_unique<Holder<T>>(value);
    return value;
  }
  void release() const {
    const std::lock_guard lock(mutex_);
    prepared_.reset();
  }

 private:
  struct HolderBase {
    virtual ~HolderBase() = default;
  };
  template <typename T>
  struct Holder : HolderBase {
    explicit Holder(std::shared_ptr<T> v) : value(std::move(v)) {}
    std::shared_ptr<T> value;
  };

  std::string name_;
  Shape shape_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<HolderBase> prepared_;
};

/// A shared handle to a WeightData; null when an optional weight (a bias) is absent.
using Weight = std::shared_ptr<const WeightData>;

}  // namespace gesso
