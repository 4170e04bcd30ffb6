#include "device/cpu/kernels/kernel_test.h"

namespace gesso::test {
namespace {

constexpr DType kLayoutTypes[] = {DType::kF32, DType::kBF16};

TEST(ConcatKernel, JoinsTheLastAxis) {
  for (const DType dtype : kLayoutTypes) {
    const Tensor a = random_tensor({3, 41, 5}, dtype, 1), b = random_tensor({3, 41, 320}, dtype, 2);
    const std::vector<double> left = values(a), right = values(b);
    std::vector<double> want;
    for (size_t row = 0; row < 123; ++row) {
      want.insert(want.end(), &left[row * 5], &left[row * 5] + 5);
      want.insert(want.end(), &right[row * 320], &right[row * 320] + 320);
    }
    Tensor y = host().empty({3, 41, 325}, dtype);
    cpu::concat(a, b, y);
    EXPECT_EQ(values(y), want);
  }
}

TEST(UpsampleNearestKernel, RepeatsPixels) {
  for (const DType dtype : kLayoutTypes)
    for (const auto& [factor, cut] : {std::pair(1, 0), {2, 0}, {2, 1}, {3, 0}, {3, 2}}) {
      const int height = 5 * factor - cut, width = 7 * factor - cut;
      const Tensor x = random_tensor({2, 5, 7, 33}, dtype, 1);
      const std::vector<double> v = values(x);
      std::vector<double> want;
      for (int n = 0; n < 2; ++n)
        for (int h = 0; h < height; ++h)
          for (int w = 0; w < width; ++w)
            for (int c = 0; c < 33; ++c)
              want.push_back(v[static_cast<size_t>(((n * 5 + h / factor) * 7 + w / factor) * 33 + c)]);
      Tensor y = host().empty({2, height, width, 33}, dtype);
      cpu::upsample_nearest(x, factor, y);
      EXPECT_EQ(values(y), want);
    }
}

TEST(ChannelsKernel, LastAndBackAgain) {
  for (const DType dtype : kLayoutTypes)
    for (const int64_t c : {1, 3, 4, 17, 100}) {
      const Tensor x = random_tensor({2, c, 9, 37}, dtype, 1);
      const std::vector<double> v = values(x);
      std::vector<double> want;
      for (int64_t n = 0; n < 2; ++n)
        for (int64_t i = 0; i < 9 * 37; ++i)
          for (int64_t channel = 0; channel < c; ++channel)
            want.push_back(v[static_cast<size_t>((n * c + channel) * 9 * 37 + i)]);
      Tensor last = host().empty({2, 9, 37, c}, dtype), back = host().empty(x.shape(), dtype);
      cpu::to_channels_last(x, last);
      EXPECT_EQ(values(last), want);
      cpu::to_channels_first(last, back);
      EXPECT_EQ(bytes(back), bytes(x));
    }
}

TEST(ColumnsKernel, CopiesARunOfEachRow) {
  for (const DType dtype : kLayoutTypes) {
    const Tensor x = random_tensor({3, 41, 25}, dtype, 1);
    const std::vector<double> v = values(x);
    std::vector<double> want;
    for (size_t row = 0; row < 123; ++row) want.insert(want.end(), &v[row * 25 + 7], &v[row * 25 + 7] + 11);
    Tensor y = host().empty({3, 41, 11}, dtype);
    cpu::columns(x, 7, y);
    EXPECT_EQ(values(y), want);
  }
}

TEST(PatchifyKernel, GathersSquaresAndBackAgain) {
  for (const DType dtype : kLayoutTypes)
    for (const bool channels_first : {true, false})
      for (const int size : {1, 2, 3}) {
        const int64_t c = 5, h = 3, w = 7;
        const Tensor x = random_tensor({2, h * size, w * size, c}, dtype, 1);
        const std::vector<double> v = values(x);
        std::vector<double> want(v.size());
        for (int64_t n = 0; n < 2; ++n)
          for (int64_t y = 0; y < h * size; ++y)
            for (int64_t column = 0; column < w * size; ++column)
              for (int64_t channel = 0; channel < c; ++channel) {
                const int64_t dy = y % size, dx = column % size;
                const int64_t inner =
                    channels_first ? (channel * size + dy) * size + dx : (dy * size + dx) * c + channel;
                const int64_t patch = (n * h + y / size) * w + column / size;
                want[static_cast<size_t>(patch * size * size * c + inner)] =
                    v[static_cast<size_t>(((n * h * size + y) * w * size + column) * c + channel)];
              }
        Tensor patches = host().empty({2, h, w, size * size * c}, dtype), back = host().empty(x.shape(), dtype);
        cpu::patchify(x, {size, channels_first}, patches);
        EXPECT_EQ(values(patches), want);
        cpu::unpatchify(patches, {size, channels_first}, back);
        EXPECT_EQ(bytes(back), bytes(x));
      }
}

}  // namespace
}  // namespace gesso::test
