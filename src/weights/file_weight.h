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

 private:
  void read_into(std::byte* target, DType dtype) const;
  Binding binding_;
};

}  // namespace gesso
