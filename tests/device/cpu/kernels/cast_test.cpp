#include <cmath>

#include "device/cpu/kernels/kernel_test.h"

namespace gesso::test {
namespace {

constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

// Every 16-bit pattern for the 16-bit types; for f32 patterns spread over all exponents, and the halfway cases.
Tensor every_pattern(DType dtype) {
  Tensor x = host().empty({65536 + 3}, dtype);
  for (uint32_t i = 0; i < 65536 + 3; ++i) {
    if (dtype == DType::kF32)
      x.data<uint32_t>()[i] = (i << 16) | (i % 3 == 0 ? 0x8000u : i % 3 == 1 ? 0x1000u : i * 2654435761u >> 16);
    else
      x.data<uint16_t>()[i] = static_cast<uint16_t>(i);
  }
  return x;
}

TEST(CastKernel, ConvertsEveryPatternAsTheScalarConversions) {
  for (const DType from : kTypes)
    for (const DType to : kTypes) {
      const Tensor x = every_pattern(from);
      std::vector<float> f(static_cast<size_t>(x.elements()));
      convert_to_f32(from, x.raw(), f.data(), x.elements());
      const Tensor want = tensor(x.shape(), to, f);
      for_each_isa([&](const char* isa) {
        Tensor y = host().empty(x.shape(), to);
        cpu::cast(x, y);
        const std::vector<double> got = values(y), expected = values(want);
        for (size_t i = 0; i < got.size(); ++i) {
          if (std::isnan(expected[i])) {
            ASSERT_TRUE(std::isnan(got[i])) << isa << " " << to_string(from) << " to " << to_string(to) << " " << i;
          } else {
            ASSERT_EQ(got[i], expected[i]) << isa << " " << to_string(from) << " to " << to_string(to) << " " << i;
            ASSERT_EQ(std::signbit(got[i]), std::signbit(expected[i])) << isa << " " << i;
          }
        }
      });
    }
}

TEST(AllFiniteKernel, FindsOneBadElementAnywhere) {
  for (const DType dtype : kTypes)
    for (const int64_t count : {1, 37, 70001})
      for_each_isa([&](const char* isa) {
        const Tensor x = tensor({count}, dtype, std::vector<float>(static_cast<size_t>(count), -6e4f));
        EXPECT_TRUE(cpu::all_finite(x)) << isa;
        for (const float bad : {NAN, INFINITY, -INFINITY})
          for (const int64_t at : {int64_t{0}, count / 2, count - 1}) {
            const int64_t size = size_of(dtype);
            const std::string saved = bytes(x);
            convert_from_f32(dtype, &bad, x.data<std::byte>() + at * size, 1);
            EXPECT_FALSE(cpu::all_finite(x)) << isa << " " << to_string(dtype) << " " << bad << " at " << at;
            std::memcpy(x.raw(), saved.data(), saved.size());
          }
      });
  EXPECT_TRUE(cpu::all_finite(host().empty({0}, DType::kF32)));
}

}  // namespace
}  // namespace gesso::test
