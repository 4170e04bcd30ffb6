#include "tensor/quant/block_type.h"

#include "tensor/quant/dequantise.h"
#include "tensor/quant/quantise.h"

namespace gesso {
namespace {

using namespace quant;

// clang-format off
constexpr BlockType kBlockTypes[] = {
    {DType::kQ1_0,    "Q1_0",    41, 128, 18,  dequantise_q1_0,    quantise_q1_0},
    {DType::kQ4_0,    "Q4_0",    2,  32,  18,  dequantise_q4_0,    quantise_q4_0},
    {DType::kQ4_1,    "Q4_1",    3,  32,  20,  dequantise_q4_1,    quantise_q4_1},
    {DType::kQ5_0,    "Q5_0",    6,  32,  22,  dequantise_q5_0,    quantise_q5_0},
    {DType::kQ5_1,    "Q5_1",    7,  32,  24,  dequantise_q5_1,    quantise_q5_1},
    {DType::kQ8_0,    "Q8_0",    8,  32,  34,  dequantise_q8_0,    quantise_q8_0},
    {DType::kQ2_K,    "Q2_K",    10, 256, 84,  dequantise_q2_k,    quantise_q2_k},
    {DType::kQ3_K,    "Q3_K",    11, 256, 110, dequantise_q3_k,    quantise_q3_k},
    {DType::kQ4_K,    "Q4_K",    12, 256, 144, dequantise_q4_k,    quantise_q4_k},
    {DType::kQ5_K,    "Q5_K",    13, 256, 176, dequantise_q5_k,    quantise_q5_k},
    {DType::kQ6_K,    "Q6_K",    14, 256, 210, dequantise_q6_k,    quantise_q6_k},
    {DType::kIQ1_S,   "IQ1_S",   19, 256, 50,  dequantise_iq1_s,   quantise_iq1_s},
    {DType::kIQ1_M,   "IQ1_M",   29, 256, 56,  dequantise_iq1_m,   quantise_iq1_m},
    {DType::kIQ2_XXS, "IQ2_XXS", 16, 256, 66,  dequantise_iq2_xxs, quantise_iq2_xxs},
    {DType::kIQ2_XS,  "IQ2_XS",  17, 256, 74,  dequantise_iq2_xs,  quantise_iq2_xs},
    {DType::kIQ2_S,   "IQ2_S",   22, 256, 82,  dequantise_iq2_s,   quantise_iq2_s},
    {DType::kIQ3_XXS, "IQ3_XXS", 18, 256, 98,  dequantise_iq3_xxs, quantise_iq3_xxs},
    {DType::kIQ3_S,   "IQ3_S",   21, 256, 110, dequantise_iq3_s,   quantise_iq3_s},
    {DType::kIQ4_NL,  "IQ4_NL",  20, 32,  18,  dequantise_iq4_nl,  quantise_iq4_nl},
    {DType::kIQ4_XS,  "IQ4_XS",  23, 256, 136, dequantise_iq4_xs,  quantise_iq4_xs},
    {DType::kTQ1_0,   "TQ1_0",   34, 256, 54,  dequantise_tq1_0,   quantise_tq1_0},
    {DType::kTQ2_0,   "TQ2_0",   35, 256, 66,  dequantise_tq2_0,   quantise_tq2_0},
    {DType::kMXFP4,   "MXFP4",   39, 32,  17,  dequantise_mxfp4,   quantise_mxfp4},
    {DType::kNVFP4,   "NVFP4",   40, 64,  36,  dequantise_nvfp4,   quantise_nvfp4},
};
// clang-format on

struct PlainType {
  DType dtype;
  uint32_t ggml_type;
};
constexpr PlainType kPlainTypes[] = {{DType::kF32, 0},  {DType::kF16, 1},  {DType::kI8, 24},  {DType::kI16, 25},
                                     {DType::kI32, 26}, {DType::kI64, 27}, {DType::kF64, 28}, {DType::kBF16, 30}};

struct UnreadType {
  uint32_t ggml_type;
  std::string_view name;
};
constexpr UnreadType kUnreadTypes[] = {
    {4, "Q4_2"},      {5, "Q4_3"},        {9, "Q8_1"},        {15, "Q8_K"},       {31, "Q4_0_4_4"}, {32, "Q4_0_4_8"},
    {33, "Q4_0_8_8"}, {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"}, {42, "Q2_0"},
};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kBlockTypes); ++i)
    if (static_cast<size_t>(kBlockTypes[i].dtype) != static_cast<size_t>(kFirstBlockType) + i) return false;
  return std::size(kBlockTypes) == static_cast<size_t>(kLastBlockType) - static_cast<size_t>(kFirstBlockType) + 1;
}
static_assert(in_order(), "a row for each block type, in the order of DType");

}  // namespace

std::span<const BlockType> block_types() {
  return kBlockTypes;
}

const BlockType* find_block_type(DType dtype) {
  return is_block(dtype) ? &kBlockTypes[static_cast<int>(dtype) - static_cast<int>(kFirstBlockType)] : nullptr;
}

std::optional<uint32_t> ggml_type_of(DType dtype) {
  if (const BlockType* type = find_block_type(dtype)) return type->ggml_type;
  for (const PlainType& plain : kPlainTypes)
    if (plain.dtype == dtype) return plain.ggml_type;
  return std::nullopt;
}

std::optional<DType> dtype_of_ggml(uint32_t ggml_type) {
  for (const BlockType& type : kBlockTypes)
    if (type.ggml_type == ggml_type) return type.dtype;
  for (const PlainType& plain : kPlainTypes)
    if (plain.ggml_type == ggml_type) return plain.dtype;
  return std::nullopt;
}

std::string_view unread_ggml_type(uint32_t ggml_type) {
  for (const UnreadType& type : kUnreadTypes)
    if (type.ggml_type == ggml_type) return type.name;
  return {};
}

}  // namespace gesso
