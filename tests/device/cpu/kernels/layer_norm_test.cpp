#include <cmath>

#include "device/cpu/kernels/kernel_test.h"

namespace gesso::test {
namespace {

std::vector<double> reference(const Tensor& x, const Tensor& scale, const Tensor& bias, double eps) {
  std::vector<double> y = values(x);
  const std::vector<double> s = values(scale), b = values(bias);
  const size_t c = s.size();
  for (size_t row = 0; row < y.size(); row += c) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < c; ++i) mean += y[row + i] / static_cast<double>(c);
    for (size_t i = 0; i < c; ++i) variance += (y[row + i] - mean) * (y[row + i] - mean) / static_cast<double>(c);
    for (size_t i = 0; i < c; ++i) y[row + i] = (y[row + i] - mean) / std::sqrt(variance + eps) * s[i] + b[i];
  }
  return y;
}

void check_rows(int64_t rows, int64_t c, DType dtype, float mean) {
  SCOPED_TRACE(testing::Message() << to_string(dtype) << " c " << c);
  const Tensor x = random_tensor({rows, c}, dtype, 1, mean);
  const Tensor scale = random_tensor({c}, DType::kF32, 2, 1), bias = random_tensor({c}, DType::kF32, 3);
  const auto compute = [&] {
    Tensor y = host().empty(x.shape(), dtype);
    cpu::layer_norm(x, scale, bias, 1e-5f, y);
    return y;
  };
  check(compute, reference(x, scale, bias, 1e-5), 1e-6, 4e-6);
}

TEST(LayerNormKernel, AgreesWithTheFormula) {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const int64_t c : {1, 3, 16, 77, 320, 768, 1025, 5000}) check_rows(c == 1025 ? 70 : 5, c, dtype, 1);
}

TEST(LayerNormKernel, ALargeMeanCostsNoAccuracy) {
  check_rows(4, 1280, DType::kF32, 3000);
}

TEST(ModulatedNormKernel, AgreesWithTheFormula) {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const int64_t c : {1, 7, 64, 333, 1025}) {
      SCOPED_TRACE(testing::Message() << to_string(dtype) << " c " << c);
      const Tensor x = random_tensor({2, 5, c}, dtype, 1, 1), shift = random_tensor({2, c}, dtype, 2);
      const Tensor scale = random_tensor({2, c}, dtype, 3);
      std::vector<double> want;
      for (int64_t image = 0; image < 2; ++image) {
        std::vector<float> factor, offset;
        for (const double s : values(scale.slice(image, image + 1))) factor.push_back(static_cast<float>(1 + s));
        for (const double s : values(shift.slice(image, image + 1))) offset.push_back(static_cast<float>(s));
        const auto rows = reference(x.slice(image, image + 1), tensor({c}, DType::kF32, factor),
                                    tensor({c}, DType::kF32, offset), 1e-6);
        want.insert(want.end(), rows.begin(), rows.end());
      }
      const auto compute = [&] {
        Tensor y = host().empty(x.shape(), dtype);
        cpu::modulated_norm(x, shift, scale, 1e-6f, y);
        return y;
      };
      check(compute, want, 1e-6, 6e-6);
    }
}

}  // namespace
}  // namespace gesso::test
