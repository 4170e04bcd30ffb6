#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "tensor/tensor.h"
#include "tensor/weight.h"

namespace gesso {

struct Kernels;

/// What one operation costs, told to the device before it runs.
struct OpCost {
  const char* op;                     ///< "conv2d"
  int64_t flops = 0;                  ///< multiply and add count as two
  int64_t bytes = 0;                  ///< activations read and written
  std::span<const Weight> weights{};  ///< parameters used (null entries are absent ones)
  const Tensor* x = nullptr;          ///< the first operand, for reports
};

/// Sees the operations of a device before they run, with their operands.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void observe(const OpCost& cost) = 0;
};

/// Which axes of pictures are rings: behind the last column (x) comes the first, below the last row (y) the first.
struct Wrap {
  bool x = false, y = false;
};

/// Where tensors live and operations run. Tensors hold a reference: a device outlives its tensors.
class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual std::string_view name() const = 0;
  /// Uninitialised memory, aligned to 64 bytes. Throws kOutOfMemory with the bytes needed and available.
  virtual std::shared_ptr<Storage> allocate(int64_t bytes) = 0;
  Tensor empty(const Shape& shape, DType dtype);

  /// Convolutions pad wrapped axes with what comes round there instead of zeros.
  Wrap wrap() const { return wrap_; }
  void set_wrap(Wrap wrap) { wrap_ = wrap; }

  /// Runs one operation: the device books `cost`, then gets `compute(kernels)` unless it only books.
  template <typename F>
  void run(const OpCost& cost, const F& compute) {
    if (const Kernels* kernels = begin(cost)) {
      compute(*kernels);
      end(cost);
    }
  }

 protected:
  /// The kernels to run with, or null when this device only books. May throw kCancelled.
  virtual const Kernels* begin(const OpCost& cost) = 0;
  virtual void end(const OpCost& cost) {}

 private:
  Wrap wrap_;
};

/// Wraps while it lives.
class Wrapping {
 public:
  Wrapping(Device& device, Wrap wrap) : device_(device), before_(device.wrap()) { device.set_wrap(wrap); }
  ~Wrapping() { device_.set_wrap(before_); }
  Wrapping(const Wrapping&) = delete;
  Wrapping& operator=(const Wrapping&) = delete;

 private:
  Device& device_;
  Wrap before_;
};

/// A parameter as an f32 tensor of the device, kept with the weight (for small ones: norms, biases, positions).
Tensor parameter(Device& device, const Weight& w);

}  // namespace gesso
