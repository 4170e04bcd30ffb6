#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace gesso {

/// Element types of tensors in files and in memory.
enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kF64,
  kF8E4M3,
  kF8E5M2,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kBool
};

/// Bytes per element.
int64_t size_of(DType dtype);
bool is_float(DType dtype);
/// Name as safetensors spells it: "F32", "BF16", "F8_E4M3" ...
std::string_view to_string(DType dtype);
/// The type of that (safetensors) name, if there is one.
std::optional<DType> dtype_from_string(std::string_view name);

/// IEEE half and bfloat16 conversions, round to nearest even; NaN stays NaN.
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
inline float bf16_to_f32(uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16);
}
uint16_t f32_to_bf16(float value);
/// OCP 8-bit floats: E4M3 (no infinity, NaN at 0x7f and 0xff) and E5M2 (IEEE-like).
float f8e4m3_to_f32(uint8_t bits);
float f8e5m2_to_f32(uint8_t bits);

/// Converts `count` elements of any type to f32. Integers and bool convert by value. Scalar code: for loading only.
void convert_to_f32(DType from, const void* source, float* target, int64_t count);
/// Converts f32 to f32, f16 or bf16.
void convert_from_f32(DType to, const float* source, void* target, int64_t count);

}  // namespace gesso
