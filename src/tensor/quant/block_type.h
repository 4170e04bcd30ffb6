#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tensor/dtype.h"

namespace gesso {

/// A type whose elements are stored in blocks that share scales: its layout, and how values get in and out of it.
struct BlockType {
  DType dtype;
  std::string_view name;  ///< as ggml spells it: "Q4_K"
  uint32_t ggml_type;     ///< its number in GGUF files
  int elements, bytes;    ///< of one block
  void (*dequantise)(const uint8_t* block, float* y);
  /// See quant/quantise.h.
  void (*quantise)(const float* x, int64_t width, const float* importance, uint8_t* blocks);
};

/// No block is larger.
inline constexpr int kMaxBlockElements = 256;

/// Every block type, ordered by DType.
std::span<const BlockType> block_types();
/// Null for a plain type.
const BlockType* find_block_type(DType dtype);
/// The number of a type, plain or in blocks, in GGUF files, and back; nothing where GGUF has none or Gesso does not.
std::optional<uint32_t> ggml_type_of(DType dtype);
std::optional<DType> dtype_of_ggml(uint32_t ggml_type);
/// What a type that Gesso does not read is called ("Q8_K"); empty when no version of the format has that number.
std::string_view unread_ggml_type(uint32_t ggml_type);

}  // namespace gesso
