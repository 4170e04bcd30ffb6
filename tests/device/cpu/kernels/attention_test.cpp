#include <cmath>
#include <limits>

#include "device/cpu/kernels/kernel_test.h"

namespace gesso::test {
namespace {

struct AttentionCase {
  int64_t b, tq, tk;
  int heads;
  int64_t d;
  bool causal;
};

// softmax(scale q k^T) v, written as the formula.
std::vector<double> reference(const AttentionCase& c, double scale, const std::vector<double>& q,
                              const std::vector<double>& k, const std::vector<double>& v,
                              const std::vector<double>& bias = {}) {
  const int64_t row = c.heads * c.d;
  std::vector<double> y(static_cast<size_t>(c.b * c.tq * row)), p(static_cast<size_t>(c.tk));
  for (int64_t b = 0; b < c.b; ++b)
    for (int64_t h = 0; h < c.heads; ++h)
      for (int64_t i = 0; i < c.tq; ++i) {
        const int64_t keys = c.causal ? std::min(i + 1, c.tk) : c.tk;
        const double* qi = &q[static_cast<size_t>((b * c.tq + i) * row + h * c.d)];
        double top = -std::numeric_limits<double>::infinity(), sum = 0;
        for (int64_t j = 0; j < keys; ++j) {
          double s = 0;
          for (int64_t e = 0; e < c.d; ++e) s += qi[e] * k[static_cast<size_t>((b * c.tk + j) * row + h * c.d + e)];
          s *= scale;
          if (!bias.empty()) s += bias[static_cast<size_t>((h * c.tk + j) * c.tq + i)];
          p[static_cast<size_t>(j)] = s;
          top = std::max(top, s);
        }
        for (int64_t j = 0; j < keys; ++j) sum += p[static_cast<size_t>(j)] = std::exp(p[static_cast<size_t>(j)] - top);
        double* yi = &y[static_cast<size_t>((b * c.tq + i) * row + h * c.d)];
        for (int64_t j = 0; j < keys; ++j)
          for (int64_t e = 0; e < c.d; ++e)
            yi[e] += p[static_cast<size_t>(j)] / sum * v[static_cast<size_t>((b * c.tk + j) * row + h * c.d + e)];
      }
  return y;
}

Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Attention& a, const Tensor& bias = {}) {
  Tensor y = host().empty(q.shape(), q.dtype());
  cpu::attention(q, k, v, bias, a, y);
  return y;
}

TEST(AttentionKernel, AgreesWithTheFormula) {
  const AttentionCase cases[] = {
      {1, 1, 1, 1, 1, false},      {2, 5, 3, 2, 7, false},    {1, 77, 77, 3, 64, true},   {1, 50, 154, 2, 40, false},
      {2, 49, 129, 1, 80, false},  {1, 97, 300, 2, 33, true}, {1, 1, 513, 1, 160, false}, {1, 130, 20, 1, 12, true},
      {1, 20, 257, 1, 512, false}, {1, 3, 9, 1, 1024, false}, {1, 210, 70, 2, 16, false},
  };
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const AttentionCase& c : cases) {
      SCOPED_TRACE(testing::Message() << to_string(dtype) << " tq " << c.tq << " tk " << c.tk << " d " << c.d);
      const Tensor q = random_tensor({c.b, c.tq, c.heads * c.d}, dtype, 1, 0, 2);
      const Tensor k = random_tensor({c.b, c.tk, c.heads * c.d}, dtype, 2);
      const Tensor v = random_tensor({c.b, c.tk, c.heads * c.d}, dtype, 3);
      const Attention a{c.heads, 1 / std::sqrt(static_cast<float>(c.d)), c.causal};
      // Values are about 1 and weights sum to 1; the error of a weight is that of its score, an f32 sum over depth.
      check([&] { return attend(q, k, v, a); },
            reference(c, static_cast<double>(a.scale), values(q), values(k), values(v)), 1e-6, 4e-6);
    }
}

TEST(AttentionKernel, AddsTheBias) {
  const AttentionCase cases[] = {{1, 1, 1, 1, 4, false},     {2, 5, 3, 2, 7, false},   {1, 77, 77, 3, 64, false},
                                 {1, 61, 300, 2, 33, false}, {1, 97, 150, 2, 8, true}, {1, 210, 70, 1, 16, false}};
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const AttentionCase& c : cases) {
      SCOPED_TRACE(testing::Message() << to_string(dtype) << " tq " << c.tq << " tk " << c.tk << " d " << c.d);
      const Tensor q = random_tensor({c.b, c.tq, c.heads * c.d}, dtype, 1, 0, 2);
      const Tensor k = random_tensor({c.b, c.tk, c.heads * c.d}, dtype, 2);
      const Tensor v = random_tensor({c.b, c.tk, c.heads * c.d}, dtype, 3);
      const Tensor bias = random_tensor({c.heads, c.tk, c.tq}, DType::kF32, 4, 0, 3);
      const Attention a{c.heads, 1 / std::sqrt(static_cast<float>(c.d)), c.causal};
      check([&] { return attend(q, k, v, a, bias); },
            reference(c, static_cast<double>(a.scale), values(q), values(k), values(v), values(bias)), 1e-6, 6e-6);
    }
}

TEST(AttentionKernel, MinusInfinityHidesAKeyWhereverItLies) {
  // The first 140 keys, more than a block, and the last 10 are hidden.
  const AttentionCase c{1, 50, 300, 2, 8, false};
  const Tensor q = random_tensor({1, c.tq, 16}, DType::kF32, 1), k = random_tensor({1, c.tk, 16}, DType::kF32, 2);
  std::vector<float> hidden(static_cast<size_t>(c.tk * c.tq), 0.f);
  for (int64_t key = 0; key < c.tk; ++key)
    if (key < 140 || key >= 290)
      std::fill_n(hidden.begin() + key * c.tq, c.tq, -std::numeric_limits<float>::infinity());
  std::vector<double> both(hidden.begin(), hidden.end());
  both.insert(both.end(), hidden.begin(), hidden.end());
  const Tensor bias = tensor({1, c.tk, c.tq}, DType::kF32, hidden);  // one for both heads
  check(
      [&] {
        return attend(q, k, k, {2, 0.3f, false}, bias);
      },
      reference(c, static_cast<double>(0.3f), values(q), values(k), values(k), both), 1e-6, 4e-6);
}

TEST(AttentionKernel, AQueryDoesNotDependOnItsBatch) {
  const Tensor q = random_tensor({3, 100, 80}, DType::kF32, 1), k = random_tensor({3, 150, 80}, DType::kF32, 2);
  const Attention a{2, 0.2f, false};
  for_each_isa([&](const char* isa) {
    const std::string all = bytes(attend(q, k, k, a)),
                      last = bytes(attend(q.slice(2, 3), k.slice(2, 3), k.slice(2, 3), a));
    EXPECT_EQ(all.substr(all.size() - last.size()), last) << isa;
  });
}

TEST(AttentionKernel, LargeScoresNeitherOverflowNorVanish) {
  const Tensor q = tensor({1, 1, 1}, DType::kF32, {1000.f});
  const Tensor k = tensor({1, 3, 1}, DType::kF32, {-1000.f, 999.f, 999.f});
  const Tensor v = tensor({1, 3, 1}, DType::kF32, {7.f, 2.f, 4.f});
  check([&] { return attend(q, k, v, {1, 1.f, false}); }, {3.0}, 1e-6, 0);
}

TEST(AttentionKernel, NotANumberShows) {
  const Tensor q = random_tensor({1, 60, 8}, DType::kF32, 1), v = random_tensor({1, 200, 8}, DType::kF32, 2);
  Tensor k = random_tensor({1, 200, 8}, DType::kF32, 3);
  k.data<uint32_t>()[150 * 8 + 3] = 0x7fc00001;  // a NaN with low payload bits
  for_each_isa([&](const char* isa) {
    for (const double y : values(attend(q, k, v, {1, 1.f, false}))) ASSERT_TRUE(std::isnan(y)) << isa;
  });
}

TEST(AttentionKernel, WithoutKeysTheResultIsZero) {
  const Tensor q = random_tensor({1, 2, 4}, DType::kF32, 1), k = host().empty({1, 0, 4}, DType::kF32);
  EXPECT_EQ(values(attend(q, k, k, {1, 1.f, false})), std::vector<double>(8, 0.0));
}

}  // namespace
}  // namespace gesso::test
