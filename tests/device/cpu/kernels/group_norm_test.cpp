#include <cmath>

#include "device/cpu/kernels/kernel_test.h"

namespace gesso::test {
namespace {

std::vector<double> reference(const Tensor& x, const Tensor& add, const Tensor& scale, const Tensor& bias,
                              const GroupNorm& g) {
  const size_t n = static_cast<size_t>(x.dim(0)), c = static_cast<size_t>(x.dim(-1));
  const size_t rows = static_cast<size_t>(x.elements()) / (n * c), per_group = c / static_cast<size_t>(g.groups);
  std::vector<double> y = values(x);
  const std::vector<double> offset = add ? values(add) : std::vector<double>(n * c), s = values(scale),
                            b = values(bias);
  for (size_t i = 0; i < y.size(); ++i) y[i] += offset[i / (rows * c) * c + i % c];
  for (size_t image = 0; image < n; ++image)
    for (size_t first = 0; first < c; first += per_group) {
      const auto each = [&](auto f) {
        for (size_t row = 0; row < rows; ++row)
          for (size_t i = first; i < first + per_group; ++i) f(y[(image * rows + row) * c + i], i);
      };
      const double count = static_cast<double>(rows * per_group);
      double mean = 0, variance = 0;
      each([&](double v, size_t) { mean += v / count; });
      each([&](double v, size_t) { variance += (v - mean) * (v - mean) / count; });
      each([&](double& v, size_t i) {
        v = (v - mean) / std::sqrt(variance + static_cast<double>(g.eps)) * s[i] + b[i];
        if (g.activation == Activation::kSilu) v /= 1 + std::exp(-v);
      });
    }
  return y;
}

Tensor normalise(const Tensor& x, const Tensor& add, const Tensor& scale, const Tensor& bias, const GroupNorm& g) {
  Tensor y = host().empty(x.shape(), x.dtype());
  cpu::group_norm(x, add, scale, bias, g, y);
  return y;
}

struct NormCase {
  Shape shape;
  int groups;
  bool add;
  Activation activation;
  float mean;
};

TEST(GroupNormKernel, AgreesWithTheFormula) {
  const NormCase cases[] = {
      {{1, 1, 1, 4}, 2, false, Activation::kNone, 0},        {{2, 3, 5, 32}, 8, true, Activation::kSilu, 1},
      {{1, 9, 7, 64}, 16, false, Activation::kSilu, -3},     {{2, 11, 13, 320}, 32, true, Activation::kNone, 0.5f},
      {{1, 1300, 33}, 3, true, Activation::kSilu, 2},        {{3, 2, 31}, 31, false, Activation::kNone, 0},
      {{1, 7, 10, 1, 640}, 32, false, Activation::kSilu, 0}, {{1, 40, 17, 128}, 1, true, Activation::kNone, 10},
  };
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const NormCase& c : cases) {
      SCOPED_TRACE(testing::Message() << to_string(dtype) << " " << to_string(c.shape) << " groups " << c.groups);
      const int64_t channels = c.shape[-1];
      const Tensor x = random_tensor(c.shape, dtype, 1, c.mean, 2);
      const Tensor add = c.add ? random_tensor({c.shape[0], channels}, dtype, 2) : Tensor();
      const Tensor scale = random_tensor({channels}, DType::kF32, 3, 1),
                   bias = random_tensor({channels}, DType::kF32, 4);
      const GroupNorm g{c.groups, 1e-5f, c.activation};
      check([&] { return normalise(x, add, scale, bias, g); }, reference(x, add, scale, bias, g), 2e-6, 4e-6);
    }
}

TEST(GroupNormKernel, ALargeMeanCostsNoAccuracy) {
  // Deviation 1 about 3000: one-pass f32 statistics would be wrong in the first digit.
  const Tensor x = random_tensor({1, 3000, 16}, DType::kF32, 1, 3000),
               one = tensor({16}, DType::kF32, std::vector<float>(16, 1.f));
  const Tensor zero = tensor({16}, DType::kF32, std::vector<float>(16, 0.f));
  const GroupNorm g{4, 1e-5f, Activation::kNone};
  // y = x a + b in f32 rounds at 3000 / 2^24
  check([&] { return normalise(x, {}, one, zero, g); }, reference(x, {}, one, zero, g), 2e-6, 4e-4);
}

TEST(GroupNormKernel, AnImageDoesNotDependOnItsBatch) {
  const Tensor x = random_tensor({3, 700, 96}, DType::kF32, 1), add = random_tensor({3, 96}, DType::kF32, 2);
  const Tensor scale = random_tensor({96}, DType::kF32, 3), bias = random_tensor({96}, DType::kF32, 4);
  const GroupNorm g{32, 1e-6f, Activation::kSilu};
  for_each_isa([&](const char* isa) {
    const std::string all = bytes(normalise(x, add, scale, bias, g));
    const std::string last = bytes(normalise(x.slice(2, 3), add.slice(2, 3), scale, bias, g));
    EXPECT_EQ(all.substr(all.size() - last.size()), last) << isa;
  });
}

}  // namespace
}  // namespace gesso::test
