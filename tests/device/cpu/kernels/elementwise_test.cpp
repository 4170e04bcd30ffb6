#include <cmath>

#include "device/cpu/kernels/kernel_test.h"

namespace gesso::test {
namespace {

double activation(Activation a, double x) {
  switch (a) {
    case Activation::kNone:
      return x;
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::kQuickGelu:
      return x / (1 + std::exp(-1.702 * x));
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kSoftClamp3:
      return 3 * std::tanh(x / 3);
    case Activation::kLeakyRelu:
      return x < 0 ? 0.2 * x : x;
  }
  return x;
}

TEST(ActivateKernel, AgreesWithTheFormulas) {
  std::vector<float> v;
  for (int i = -4000; i <= 4000; ++i) v.push_back(static_cast<float>(i) * 0.005f);  // -20 to 20
  for (const float x : {1e-30f, -1e-6f, 80.f, -80.f, 200.f, -200.f, 3e4f, -3e4f, 0.f}) v.push_back(x);
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const Activation a :
         {Activation::kNone, Activation::kSilu, Activation::kGelu, Activation::kGeluTanh, Activation::kQuickGelu,
          Activation::kRelu, Activation::kLeakyRelu, Activation::kSoftClamp3}) {
      const Tensor x = tensor({static_cast<int64_t>(v.size())}, dtype, v);
      std::vector<double> want = values(x);
      for (double& y : want) y = activation(a, y);
      const auto compute = [&] {
        Tensor y = host().empty(x.shape(), dtype);
        cpu::activate(x, a, y);
        return y;
      };
      // GELU: 7.1.26 is off by 1.5e-7 at most, here times |x| / 2 where that is largest. The clamp: six times a
      // sigmoid, which is off by 3e-7.
      check(compute, want, 1e-6, a == Activation::kGelu ? 5e-7 : a == Activation::kSoftClamp3 ? 2e-6 : 1e-7);
    }
}

TEST(ActivateKernel, LongTensorsAreSharedOut) {
  const Tensor x = random_tensor({100003}, DType::kF32, 1);
  std::vector<double> want = values(x);
  for (double& y : want) y = activation(Activation::kSilu, y);
  const auto compute = [&] {
    Tensor y = host().empty(x.shape(), DType::kF32);
    cpu::activate(x, Activation::kSilu, y);
    return y;
  };
  check(compute, want, 1e-6, 1e-7);
}

TEST(ActivateKernel, NotANumberShows) {
  const Tensor x = tensor({3}, DType::kF32, {NAN, 1.f, NAN});
  for (const Activation a : {Activation::kSilu, Activation::kGelu, Activation::kGeluTanh, Activation::kQuickGelu,
                             Activation::kRelu, Activation::kLeakyRelu, Activation::kSoftClamp3})
    for_each_isa([&](const char* isa) {
      Tensor y = host().empty(x.shape(), DType::kF32);
      cpu::activate(x, a, y);
      EXPECT_TRUE(std::isnan(y.data<float>()[0]) && std::isnan(y.data<float>()[2])) << isa;
    });
}

TEST(AddKernel, Adds) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Tensor a = random_tensor({7, 5, 1013}, dtype, 1), b = random_tensor({7, 5, 1013}, dtype, 2);
    std::vector<double> want = values(a);
    const std::vector<double> other = values(b);
    for (size_t i = 0; i < want.size(); ++i) want[i] += other[i];
    const auto compute = [&] {
      Tensor y = host().empty(a.shape(), dtype);
      cpu::add(a, b, y);
      return y;
    };
    check(compute, want, 0x1p-24, 0);
  }
}

TEST(MultiplyKernel, Multiplies) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Tensor a = random_tensor({7, 5, 1013}, dtype, 1), b = random_tensor({7, 5, 1013}, dtype, 2);
    std::vector<double> want = values(a);
    const std::vector<double> other = values(b);
    for (size_t i = 0; i < want.size(); ++i) want[i] *= other[i];
    const auto compute = [&] {
      Tensor y = host().empty(a.shape(), dtype);
      cpu::multiply(a, b, y);
      return y;
    };
    check(compute, want, 0x1p-24, 0);
  }
}

TEST(ScaledAddKernel, AddsTheScaledPart) {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const int64_t count : {1, 15, 35455}) {
      const Tensor x = random_tensor({count}, dtype, 1), residual = random_tensor({count}, dtype, 2);
      std::vector<double> want = values(residual);
      const std::vector<double> v = values(x);
      for (size_t i = 0; i < want.size(); ++i) want[i] += static_cast<double>(0.2f) * v[i];
      const auto compute = [&] {
        Tensor y = host().empty(x.shape(), dtype);
        cpu::scaled_add(x, 0.2f, residual, y);
        return y;
      };
      check(compute, want, 1e-6, 1e-6);
    }
}

TEST(PreluKernel, HasASlopeForEachChannel) {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const int64_t c : {1, 7, 19, 64, 640}) {
      const Tensor x = random_tensor({3, 61, c}, dtype, 1), slope = random_tensor({c}, DType::kF32, 2);
      std::vector<double> want = values(x);
      const std::vector<double> slopes = values(slope);
      for (size_t i = 0; i < want.size(); ++i)
        if (want[i] < 0) want[i] *= slopes[i % slopes.size()];
      const auto compute = [&] {
        Tensor y = host().empty(x.shape(), dtype);
        cpu::prelu(x, slope, y);
        return y;
      };
      check(compute, want, 1e-6, 0);
    }
}

TEST(PreluKernel, NotANumberShows) {
  const Tensor x = tensor({1, 3}, DType::kF32, {NAN, 1.f, -1.f}), slope = tensor({3}, DType::kF32, {1.f, NAN, NAN});
  for_each_isa([&](const char* isa) {
    Tensor y = host().empty(x.shape(), DType::kF32);
    cpu::prelu(x, slope, y);
    EXPECT_TRUE(std::isnan(y.data<float>()[0]) && y.data<float>()[1] == 1 && std::isnan(y.data<float>()[2])) << isa;
  });
}

TEST(GatedAddKernel, AddsTheGatedPart) {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const int64_t c : {1, 19, 640}) {
      const Tensor x = random_tensor({2, 31, c}, dtype, 1), residual = random_tensor({2, 31, c}, dtype, 2);
      const Tensor gate = random_tensor({2, c}, dtype, 3);
      std::vector<double> want = values(residual);
      const std::vector<double> v = values(x), g = values(gate);
      for (size_t i = 0; i < want.size(); ++i) {
        const auto width = static_cast<size_t>(c);
        want[i] += v[i] * g[i / (31 * width) * width + i % width];
      }
      const auto compute = [&] {
        Tensor y = host().empty(x.shape(), dtype);
        cpu::gated_add(x, gate, residual, y);
        return y;
      };
      check(compute, want, 1e-6, 1e-6);
    }
}

TEST(GegluKernel, MultipliesByTheGate) {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const int64_t c : {1, 19, 640}) {
      const Tensor x = random_tensor({61, 2 * c}, dtype, 1);
      const std::vector<double> v = values(x);
      std::vector<double> want;
      for (size_t i = 0; i < v.size(); ++i)
        if (i / static_cast<size_t>(c) % 2 == 0)
          want.push_back(v[i] * activation(Activation::kGelu, v[i + static_cast<size_t>(c)]));
      const auto compute = [&] {
        Tensor y = host().empty({61, c}, dtype);
        cpu::geglu(x, y);
        return y;
      };
      check(compute, want, 1e-6, 1e-6);
    }
}

}  // namespace
}  // namespace gesso::test
