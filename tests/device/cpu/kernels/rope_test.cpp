#include "device/cpu/kernels/kernel_test.h"

namespace gesso::test {
namespace {

TEST(RopeKernel, TurnsPairsOfNeighbours) {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const int64_t d : {2, 6, 16, 34, 128}) {
      SCOPED_TRACE(testing::Message() << to_string(dtype) << " d " << d);
      const int64_t tokens = 37, heads = 3;
      const Tensor x = random_tensor({2, tokens, heads * d}, dtype, 1);
      const Tensor table = random_tensor({tokens, 2, d}, DType::kF32, 2);
      const std::vector<double> v = values(x), t = values(table);
      std::vector<double> want(v.size());
      for (size_t i = 0; i < v.size(); ++i) {
        const auto width = static_cast<size_t>(d), row = static_cast<size_t>(heads * d);
        const size_t token = i / row % static_cast<size_t>(tokens), at = i % width;
        want[i] = v[i] * t[2 * token * width + at] + v[i ^ 1] * t[(2 * token + 1) * width + at];
      }
      const auto compute = [&] {
        Tensor y = host().empty(x.shape(), dtype);
        cpu::rope(x, table, y);
        return y;
      };
      check(compute, want, 1e-6, 1e-6);
    }
}

}  // namespace
}  // namespace gesso::test
