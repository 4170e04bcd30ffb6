#include "sampling/noise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "sampling/golden.h"
#include "sampling/helpers.h"
#include "sampling/philox.h"

namespace gesso {
namespace {

std::vector<float> draw(Noise& noise, size_t size) {
  std::vector<float> values(size);
  noise.fill(values);
  return values;
}

TEST(CpuNoise, EqualsTorchBitForBit) {
  for (const golden::CpuNoise& want : golden::kCpuNoise) {
    const auto noise = find_noise_source("cpu").make(want.seed);
    std::vector<uint32_t> bits;
    for (int size : want.calls)
      for (float value : draw(*noise, static_cast<size_t>(size))) bits.push_back(std::bit_cast<uint32_t>(value));
    bits.erase(bits.begin(), bits.end() - static_cast<ptrdiff_t>(want.bits.size()));
    EXPECT_EQ(bits, want.bits) << "seed " << want.seed << ", " << want.calls.size() << " calls";
  }
}

TEST(CpuNoise, DrawingNothingChangesNothing) {
  const auto noise = find_noise_source("cpu").make(42);
  draw(*noise, 0);
  EXPECT_EQ(std::bit_cast<uint32_t>(draw(*noise, 1)[0]), 0x3eac62aeu);
}

TEST(Philox, EqualsThePublishedVectors) {  // Random123's known answers
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32_10({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(CudaNoise, EqualsTorch) {  // torch.randn(3, 4, device="cuda") after torch.cuda.manual_seed(0)
  const std::vector<double> want = {-0.92466259, -0.42534415, -2.6438457,  0.14518388,  -0.12086647, -0.57972564,
                                    -0.62285122, -0.32838709, -1.07454231, -0.36314407, -1.67105067, 2.26550497};
  const auto noise = find_noise_source("cuda").make(0);
  expect_close(draw(*noise, 12), want, 2e-7);  // the GPU's sine is an approximation of its own
}

TEST(CudaNoise, ElementsDependOnTheSeedAndTheCallOnly) {
  const auto one = find_noise_source("cuda").make(uint64_t{1} << 40);
  const auto other = find_noise_source("cuda").make(uint64_t{1} << 40);
  const auto low_half = find_noise_source("cuda").make(0);
  const std::vector<float> few = draw(*one, 3), many = draw(*other, 30);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  EXPECT_NE(few, draw(*low_half, 3));  // all 64 bits of the seed count
  EXPECT_NE(few, draw(*one, 3));       // the next call is fresh
}

TEST(NoiseSources, AreStandardNormalForEverySeed) {
  for (const NoiseSource& source : noise_sources())
    for (uint64_t seed : {uint64_t{0}, uint64_t{1234}, ~uint64_t{0}}) {
      const auto noise = source.make(seed);
      double sum = 0, squares = 0;
      const std::vector<float> values = draw(*noise, 20'001);
      for (float value : values) {
        ASSERT_TRUE(std::isfinite(value));
        sum += value;
        squares += value * value;
      }
      EXPECT_NEAR(sum / 20'001, 0, 0.03) << source.name;
      EXPECT_NEAR(squares / 20'001, 1, 0.05) << source.name;
    }
}

TEST(NoiseSources, AreFoundByTheNamesOfOtherPrograms) {
  EXPECT_EQ(find_noise_source("CPU").name, "cpu");
  EXPECT_EQ(find_noise_source("NV").name, "cuda");
  expect_error(ErrorCode::kUsage, "unknown noise source 'dice'; known: cpu, cuda", [] { find_noise_source("dice"); });
}

}  // namespace
}  // namespace gesso
