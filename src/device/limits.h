#pragma once
#include <cstdint>

#include "tensor/dtype.h"

namespace gesso {

/// What a machine could do at most with the threads in use, measured.
struct MachineLimits {
  double f32 = 0;   ///< floating-point operations a second of f32 multiply-adds (each counts as two)
  double bf16 = 0;  ///< the same of bf16 products summed in f32; 0: no instruction for them, so f32 binds
  double int8 = 0;  ///< the same of int8 products summed in int32; 0: none measured
  double copy = 0;  ///< bytes a second, read and written, of a copy that no cache holds

  /// Operations a second for products of a type.
  double flops(DType dtype) const { return dtype == DType::kBF16 && bf16 > 0 ? bf16 : f32; }
  /// The least seconds that work of these operations and bytes can take.
  double seconds(DType dtype, int64_t operations, int64_t bytes) const {
    const double compute = static_cast<double>(operations) / flops(dtype), memory = static_cast<double>(bytes) / copy;
    return compute > memory ? compute : memory;
  }
};

}  // namespace gesso
