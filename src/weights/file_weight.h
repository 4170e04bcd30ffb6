#pragma once
#include "weights/weight_store.h"

namespace gesso {

/// A parameter whose values are read from a file each time a device prepares it.
class FileWeight : public WeightData {
 public:
  FileWeight(std::string name, const Shape& shape, Binding binding)
      : WeightData(std::move(name), shape), binding_(std::move(binding)) {}

  Tensor read(Device& device, DType dtype) const override;
  std::vector<float> values() const override;
  void read_rows(std::span<const int32_t> rows, Tensor& y) const override;
  void will_need() const override { binding_.file->will_need(binding_.file->tensors()[binding_.tensor]); }

 private:
  void read_into(std::byte* target, DType dtype) const;
  /// The stored values where they lie, as a tensor; empty where they are no plain f32, f16 or bf16 in order.
  Tensor stored(Device& device) const;
  Binding binding_;
};

}  // namespace gesso
