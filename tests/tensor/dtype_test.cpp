#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tensor/quant/block_type.h"

namespace gesso {
namespace {

TEST(DType, SizesOfPlainTypes) {
  EXPECT_EQ(byte_size(DType::kF32, 3), 12);
  EXPECT_EQ(byte_size(DType::kBool, 0), 0);
  EXPECT_EQ(byte_size(DType::kF64, int64_t{1} << 60), std::nullopt);
  EXPECT_EQ(byte_size(DType::kU8, -1), std::nullopt);
  EXPECT_EQ(block_elements(DType::kF16), 1);
  EXPECT_EQ(block_elements(DType::kQ6_K), 256);
  EXPECT_THROW((void)size_of(DType::kQ4_K), Error) << "an element of a block has no size";
}

TEST(DType, NamesComeBack) {
  for (const char* name : {"F32", "F16", "BF16", "F64", "F8_E4M3", "F8_E5M2", "I8", "U8", "I64", "BOOL", "Q4_0"}) {
    const auto dtype = dtype_from_string(name);
    ASSERT_TRUE(dtype) << name;
    EXPECT_EQ(to_string(*dtype), name);
  }
  EXPECT_EQ(dtype_from_string("Q9_K"), std::nullopt);
  EXPECT_EQ(dtype_from_string(""), std::nullopt);
}

TEST(DType, EveryHalfSurvivesTheWayThroughF32) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const auto half = static_cast<uint16_t>(code);
    const float value = f16_to_f32(half);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(f16_to_f32(f32_to_f16(value)))) << code;
    } else {
      ASSERT_EQ(f32_to_f16(value), half) << code;
    }
    if (const float wide = bf16_to_f32(half); !std::isnan(wide)) {
      ASSERT_EQ(f32_to_bf16(wide), half) << code;
    }
  }
}

TEST(DType, HalvesRoundToNearestEven) {
  EXPECT_EQ(f32_to_f16(1 + 0x1p-11f), 0x3c00);
  EXPECT_EQ(f32_to_f16(1 + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(f32_to_f16(65519.f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-0x1p-26f), 0x8000);
  EXPECT_EQ(f32_to_bf16(1 + 0x1p-8f), 0x3f80);
  EXPECT_EQ(f32_to_bf16(1 + 3 * 0x1p-8f), 0x3f82);
}

TEST(DType, NumbersOfGgml) {
  EXPECT_EQ(dtype_of_ggml(0), DType::kF32);
  EXPECT_EQ(dtype_of_ggml(30), DType::kBF16);
  EXPECT_EQ(ggml_type_of(DType::kI64), 27u);
  EXPECT_EQ(ggml_type_of(DType::kU8), std::nullopt);
  for (uint32_t number = 0; number < 64; ++number) {
    const auto dtype = dtype_of_ggml(number);
    EXPECT_FALSE(dtype && !unread_ggml_type(number).empty()) << number;
    if (dtype) {
      EXPECT_EQ(ggml_type_of(*dtype), number);
    }
  }
  EXPECT_EQ(unread_ggml_type(15), "Q8_K");
  EXPECT_EQ(unread_ggml_type(1000), "");
}

}  // namespace
}  // namespace gesso
