#include <cmath>

#include "device/cpu/kernels/kernel_test.h"

namespace gesso::test {
namespace {

TEST(RmsNormKernel, AgreesWithTheFormula) {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const int64_t c : {1, 3, 16, 77, 128, 1025, 4096}) {
      SCOPED_TRACE(testing::Message() << to_string(dtype) << " c " << c);
      const Tensor x = random_tensor({c < 100 ? 70 : 5, c}, dtype, 1, 1);
      const Tensor scale = random_tensor({c}, DType::kF32, 2, 1);
      std::vector<double> want = values(x);
      const std::vector<double> s = values(scale);
      for (size_t row = 0; row < want.size(); row += s.size()) {
        double square = 0;
        for (size_t i = 0; i < s.size(); ++i) square += want[row + i] * want[row + i] / static_cast<double>(c);
        for (size_t i = 0; i < s.size(); ++i) want[row + i] *= s[i] / std::sqrt(square + 1e-6);
      }
      const auto compute = [&] {
        Tensor y = host().empty(x.shape(), dtype);
        cpu::rms_norm(x, scale, 1e-6f, y);
        return y;
      };
      check(compute, want, 1e-6, 1e-7);
    }
}

}  // namespace
}  // namespace gesso::test
