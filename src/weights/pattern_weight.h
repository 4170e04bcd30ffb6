#pragma once
#include "tensor/weight.h"

namespace gesso {

/// A parameter of small values of both signs that no file holds: for measuring, where only the shape matters.
class PatternWeight : public WeightData {
 public:
  using WeightData::WeightData;
  Tensor read(Device& device, DType dtype) const override;
  std::vector<float> values() const override;
  void read_rows(std::span<const int32_t> rows, Tensor& y) const override;
};

/// Element `i` of a pattern, about uniform in [-amplitude, amplitude]: the same on every machine.
inline float pattern(int64_t i, float amplitude) {
  const uint32_t mixed = static_cast<uint32_t>(i) * 2654435761u;  // Knuth's multiplicative hash
  return amplitude * (static_cast<float>(mixed >> 8) * 0x1p-23f - 1.f);
}

}  // namespace gesso
