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
  kBool,
  // in blocks that share scales, as GGUF files have them: quant/block_type.h
  kQ1_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ1_S,
  kIQ1_M,
  kIQ2_XXS,
  kIQ2_XS,
  kIQ2_S,
  kIQ3_XXS,
  kIQ3_S,
  kIQ4_NL,
  kIQ4_XS,
  kTQ1_0,
  kTQ2_0,
  kMXFP4,
  kNVFP4
};
inline constexpr DType kFirstBlockType = DType::kQ1_0, kLastBlockType = DType::kNVFP4;

/// Whether elements are stored in blocks: then an element has no address and no size of its own.
constexpr bool is_block(DType dtype) {
  return dtype >= kFirstBlockType;
}
/// Elements that are stored together: 1, or those of a block.
int64_t block_elements(DType dtype);
/// Bytes of `elements` elements; nothing when they are negative, no whole number of blocks, or too many for 63 bits.
std::optional<int64_t> byte_size(DType dtype, int64_t elements);
/// Bytes per element of a plain type; kInternal for one in blocks (see byte_size).
int64_t size_of(DType dtype);
bool is_float(DType dtype);
/// Name as safetensors or ggml spells it: "F32", "BF16", "F8_E4M3", "Q4_K" ...
std::string_view to_string(DType dtype);
/// The type of that name, if there is one.
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

/// Converts `count` elements of any type to f32; whole blocks of a block type. Integers and bool convert by value.
/// Scalar code: for loading only.
void convert_to_f32(DType from, const void* source, float* target, int64_t count);
/// The same of elements [begin, begin + count) of an array at `source`, which may begin and end inside blocks.
void convert_range_to_f32(DType from, const void* source, int64_t begin, float* target, int64_t count);
/// Converts f32 to f32, f16 or bf16.
void convert_from_f32(DType to, const float* source, void* target, int64_t count);

}  // namespace gesso
