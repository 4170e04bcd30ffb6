#include "sampling/torch_normal.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numbers>

namespace gesso {
namespace {

// Where a multiply-add is fused below is not a choice: it is what the reference's binary does, found by comparing bits.

constexpr float kLogPolynomial[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                                    -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                                    2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
constexpr float kLn2High = 0.693359375f;
constexpr float kLn2Low = -2.12194440e-4f;

/// log(x) for normal x > 0: x = m * 2^e with m in [sqrt(1/2), sqrt(2)), then a polynomial in m - 1.
float cephes_log(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  auto exponent = static_cast<float>(static_cast<int>(bits >> 23) - 126);
  float m = std::bit_cast<float>((bits & 0x007FFFFFu) | 0x3F000000u);  // in [0.5, 1)
  if (m < std::numbers::sqrt2_v<float> / 2) {
    exponent -= 1;
    m = (m - 1) + m;
  } else {
    m = m - 1;
  }
  const float square = m * m;
  float y = kLogPolynomial[0];
  for (size_t i = 1; i < std::size(kLogPolynomial); ++i) y = std::fma(y, m, kLogPolynomial[i]);
  y = std::fma(y * m, square, exponent * kLn2Low);
  y = std::fma(-square, 0.5f, y);
  return std::fma(exponent, kLn2High, m + y);
}

struct SinCos {
  float sin, cos;
};

/// sin and cos of x in [0, 2 pi]: x less the nearest even multiple of pi/4, a polynomial for each, swapped and negated
/// by octant.
SinCos cephes_sincos(float x) {
  const int octant = (static_cast<int>(x * 1.27323954473516f /* 4 / pi */) + 1) & ~1;
  const auto j = static_cast<float>(octant);
  x = std::fma(j, -0.78515625f, x);  // pi/4 in three parts
  x = std::fma(j, -2.4187564849853515625e-4f, x);
  x = std::fma(j, -3.77489497744594108e-8f, x);
  const float z = x * x;

  float c = std::fma(2.443315711809948e-5f, z, -1.388731625493765e-3f);
  c = std::fma(c, z, 4.166664568298827e-2f);
  c = std::fma(c * z, z, -(z * 0.5f)) + 1.0f;

  float s = std::fma(-1.9515295891e-4f, z, 8.3321608736e-3f);
  s = std::fma(s, z, -1.6666654611e-1f);
  s = std::fma(s * z, x, x);

  const bool swapped = octant & 2;
  const bool negative_sin = octant & 4;
  const bool negative_cos = !((octant - 2) & 4);
  const SinCos result = swapped ? SinCos{c, s} : SinCos{s, c};
  return {negative_sin ? -result.sin : result.sin, negative_cos ? -result.cos : result.cos};
}

}  // namespace

void torch_normal_16(float* values) {
  for (int i = 0; i < 8; ++i) {
    const float radius = std::sqrt(-2.0f * cephes_log(1.0f - values[i]));
    const SinCos angle = cephes_sincos(2.0f * std::numbers::pi_v<float> * values[i + 8]);
    values[i] = radius * angle.cos + 0.0f;  // the reference adds the mean, which turns -0 into 0
    values[i + 8] = radius * angle.sin + 0.0f;
  }
}

float torch_uniform(std::mt19937& engine) {
  return static_cast<float>(engine() & 0xFFFFFFu) * 0x1p-24f;
}

double torch_uniform_double(std::mt19937& engine) {
  const uint64_t high = engine();
  const uint64_t word = high << 32 | static_cast<uint32_t>(engine());
  return static_cast<double>(word & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
}

}  // namespace gesso
