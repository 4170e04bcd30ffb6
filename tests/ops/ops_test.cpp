#include "ops/ops.h"

#include <random>

#include "base/error.h"
#include "base/threads.h"
#include "device/cpu/cpu_device.h"
#include "device/meta/meta_device.h"
#include "support/golden.h"

namespace gesso {
namespace {

class Values : public WeightData {
 public:
  Values(const Shape& shape, unsigned seed) : WeightData("values", shape) {
    std::mt19937 rng(seed);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < shape.elements(); ++i) values_.push_back(normal(rng));
  }
  Tensor read(Device& device, DType dtype) const override { return cast(from_values(device, values_, shape()), dtype); }
  std::vector<float> values() const override { return values_; }
  void read_rows(std::span<const int32_t>, Tensor&) const override {}

 private:
  std::vector<float> values_;
};

Weight random_weight(const Shape& shape, unsigned seed) {
  return std::make_shared<Values>(shape, seed);
}

struct Ops : testing::TestWithParam<DType> {
  CpuDevice cpu;
  void SetUp() override {
    if (GetParam() == DType::kBF16 && !cpu.computes_bf16()) GTEST_SKIP() << "bf16 takes AVX-512";
  }
  Tensor random(const Shape& shape, unsigned seed) { return random_weight(shape, seed)->read(cpu, GetParam()); }
  // Sums of a few thousand products in f32; a bf16 result is rounded once to 8 bits.
  double bound() const { return GetParam() == DType::kF32 ? 1e-5 : 1e-2; }
  /// The values that the device multiplies: rounded to the type.
  std::vector<float> seen(const Weight& w) { return to_values(w->read(cpu, GetParam())); }
};

double activated(double x, Activation a) {
  if (a == Activation::kSilu) return x / (1 + std::exp(-x));
  if (a == Activation::kGelu) return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  if (a == Activation::kQuickGelu) return x / (1 + std::exp(-1.702 * x));
  if (a == Activation::kRelu) return std::max(x, 0.0);
  if (a == Activation::kLeakyRelu) return x < 0 ? 0.2 * x : x;
  return x;
}

TEST_P(Ops, LinearEqualsItsDefinition) {
  for (const auto& [rows, in, out] : {std::tuple(1, 1, 1), {3, 17, 5}, {77, 64, 130}, {130, 320, 33}})
    for (const Activation a : {Activation::kNone, Activation::kSilu, Activation::kGelu, Activation::kQuickGelu,
                               Activation::kRelu, Activation::kLeakyRelu}) {
      const Weight w = random_weight({out, in}, 1), b = random_weight({out}, 2);
      const Tensor x = random({2, rows, in}, 3), r = random({2, rows, out}, 4);
      const std::vector<float> xs = to_values(x), ws = seen(w), bs = b->values(), rs = to_values(r);
      std::vector<float> expected;
      for (int i = 0; i < 2 * rows; ++i)
        for (int o = 0; o < out; ++o) {
          double sum = bs[static_cast<size_t>(o)];
          for (int k = 0; k < in; ++k)
            sum += static_cast<double>(xs[static_cast<size_t>(i * in + k)]) * ws[static_cast<size_t>(o * in + k)];
          expected.push_back(static_cast<float>(activated(sum, a) + rs[static_cast<size_t>(i * out + o)]));
        }
      const Tensor y = linear(x, w, b, {.activation = a, .residual = r});
      EXPECT_EQ(y.dtype(), GetParam());
      EXPECT_LT(relative_error(y, from_values(cpu, expected, {2, rows, out})), bound())
          << rows << ' ' << in << ' ' << out << " activation " << static_cast<int>(a);
    }
}

TEST_P(Ops, TheClampIsNoPartOfAProduct) {
  const Weight w = random_weight({5, 3}, 1);
  EXPECT_THROW(linear(random({2, 3}, 2), w, nullptr, {.activation = Activation::kSoftClamp3}), Error);
}

TEST_P(Ops, Conv2dEqualsItsDefinition) {
  for (const Wrap wrap : {Wrap{}, Wrap{.x = true}, Wrap{.y = true}, Wrap{.x = true, .y = true}})
    for (const gesso::Conv2d& attrs :
         {gesso::Conv2d::same(3), gesso::Conv2d{.stride = 2, .top = 1, .left = 1, .bottom = 1, .right = 1},
          gesso::Conv2d{.stride = 2, .bottom = 1, .right = 1}}) {
      const int64_t n = 2, h = 7, width = 10, in = 5, out = 19;
      const Weight w = random_weight({out, in, 3, 3}, 1), b = random_weight({out}, 2);
      const Tensor x = random({n, h, width, in}, 3);
      const Wrapping wrapping(cpu, wrap);
      const Tensor y = conv2d(x, w, b, attrs);
      const std::vector<float> xs = to_values(x), ws = seen(w), bs = b->values();
      std::vector<float> expected;
      for (int64_t i = 0; i < y.elements(); ++i) {
        const int64_t o = i % out, ox = i / out % y.dim(2), oy = i / out / y.dim(2) % y.dim(1),
                      p = i / out / y.dim(2) / y.dim(1);
        double sum = bs[static_cast<size_t>(o)];
        for (int64_t ky = 0; ky < 3; ++ky)
          for (int64_t kx = 0; kx < 3; ++kx) {
            int64_t iy = oy * attrs.stride + ky - attrs.top, ix = ox * attrs.stride + kx - attrs.left;
            if (wrap.y) iy = (iy + h) % h;
            if (wrap.x) ix = (ix + width) % width;
            if (iy < 0 || ix < 0 || iy >= h || ix >= width) continue;
            for (int64_t c = 0; c < in; ++c)
              sum += static_cast<double>(xs[static_cast<size_t>(((p * h + iy) * width + ix) * in + c)]) *
                     ws[static_cast<size_t>(((o * in + c) * 3 + ky) * 3 + kx)];
          }
        expected.push_back(static_cast<float>(sum));
      }
      EXPECT_LT(relative_error(y, from_values(cpu, expected, y.shape())), bound());
    }
}

TEST_P(Ops, TheEpilogueScalesBeforeItAdds) {
  const Weight w = random_weight({19, 5, 3, 3}, 1), b = random_weight({19}, 2), matrix = random_weight({19, 5}, 3);
  const Tensor x = random({2, 7, 10, 5}, 4), r = random({2, 7, 10, 19}, 5);
  for (const Activation a : {Activation::kNone, Activation::kLeakyRelu}) {
    const auto expected = [&](const Tensor& plain) {
      std::vector<float> values = to_values(plain);
      const std::vector<float> rs = to_values(r);
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(0.2 * activated(values[i], a) + rs[i]);
      return from_values(cpu, values, plain.shape());
    };
    const Epilogue e{.activation = a, .residual = r, .scale = 0.2f};
    const gesso::Conv2d same = gesso::Conv2d::same(3);
    EXPECT_LT(relative_error(conv2d(x, w, b, same, e), expected(conv2d(x, w, b, same))), bound());
    EXPECT_LT(relative_error(linear(x, matrix, b, e), expected(linear(x, matrix, b))), bound());
    const Epilogue alone{.activation = a, .scale = 3.f};
    std::vector<float> thrice = to_values(conv2d(x, w, b, same));
    for (float& v : thrice) v = static_cast<float>(3 * activated(v, a));
    EXPECT_LT(relative_error(conv2d(x, w, b, same, alone), from_values(cpu, thrice, r.shape())), bound());
  }
}

TEST_P(Ops, CircularPaddingComesRound) {
  const Tensor x = random({2, 2, 3, 5}, 1);
  const Tensor y = pad_circular(x, 3, 4, 1, 7);  // more than the picture has
  const std::vector<float> xs = to_values(x), ys = to_values(y);
  ASSERT_EQ(to_string(y.shape()), to_string(Shape{2, 6, 14, 5}));
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t i = 0; i < 6; ++i)
      for (int64_t j = 0; j < 14; ++j)
        for (int64_t c = 0; c < 5; ++c) {
          const int64_t from = ((n * 2 + (i - 3 + 4) % 2) * 3 + (j - 4 + 6) % 3) * 5 + c;
          EXPECT_EQ(ys[static_cast<size_t>(((n * 6 + i) * 14 + j) * 5 + c)], xs[static_cast<size_t>(from)]);
        }
}

TEST_P(Ops, OneWeightServesManyShapes) {
  const Weight w = random_weight({40, 24}, 1);
  const Tensor x = random({64, 24}, 2);
  const Tensor whole = linear(x, w, nullptr);
  for (const int64_t rows : {1, 7, 33, 64})
    EXPECT_LT(relative_error(linear(x.slice(0, rows), w, nullptr), whole.slice(0, rows)), bound()) << rows;
}

TEST_P(Ops, SameBytesWhateverTheThreadCount) {
  const Weight k = random_weight({96, 64, 3, 3}, 2);
  const auto with_threads = [](int threads, const auto& compute) {
    set_thread_count(threads);
    const std::vector<float> values = to_values(compute());
    set_thread_count(0);
    return values;
  };
  for (const auto& [in, out] : {std::pair(640, 1280), {2816, 1280}, {5120, 320}, {1560, 32}, {64, 64}, {320, 10240}}) {
    const Weight matrix = random_weight({out, in}, 5);
    for (const int64_t rows : {1, 2, 16, 77, 154, 300, 1000}) {
      const Tensor x = random({rows, in}, 3);
      const auto compute = [&] { return linear(x, matrix, nullptr); };
      const std::vector<float> one = with_threads(1, compute);
      for (const int threads : {2, 3})
        EXPECT_EQ(with_threads(threads, compute), one) << rows << ' ' << in << ' ' << out;
    }
  }
  const Tensor x = random({1, 24, 24, 64}, 4);
  const auto compute = [&] { return conv2d(x, k, nullptr, gesso::Conv2d::same(3)); };
  EXPECT_EQ(with_threads(1, compute), with_threads(2, compute));
}

INSTANTIATE_TEST_SUITE_P(Types, Ops, testing::Values(DType::kF32, DType::kBF16),
                         [](const auto& p) { return std::string(to_string(p.param)); });

TEST(OpsShapes, WrongOnesAreNamed) {
  CpuDevice cpu;
  const Tensor x = cpu.empty({2, 3}, DType::kF32);
  EXPECT_THAT(
      [&] {
        linear(x, random_weight({4, 5}, 1), nullptr);
      },
      testing::ThrowsMessage<Error>(testing::AllOf(testing::HasSubstr("[linear]"), testing::HasSubstr("[4, 5]"))));
  EXPECT_THROW(add(x, cpu.empty({3, 2}, DType::kF32)), Error);
  EXPECT_THROW(concat(x, cpu.empty({3, 3}, DType::kF32)), Error);
  EXPECT_THROW(geglu(x), Error);
  EXPECT_THROW(multiply(x, cpu.empty({3, 2}, DType::kF32)), Error);
  EXPECT_THROW(scaled_add(x, 0.2f, cpu.empty({3, 2}, DType::kF32)), Error);
  EXPECT_THROW(prelu(x, random_weight({2}, 1)), Error);
  EXPECT_THROW(gated_add(x, cpu.empty({3}, DType::kF32), x), Error);
  EXPECT_THROW(modulated_norm(x, x, cpu.empty({1, 3}, DType::kF32), 1e-6f), Error);
  EXPECT_THROW(rms_norm(x, random_weight({2}, 1), 1e-6f), Error);
  EXPECT_THROW(columns(x, 2, 4), Error);
  EXPECT_THROW(patchify(cpu.empty({1, 3, 4, 2}, DType::kF32), {}), Error);
  EXPECT_THROW(unpatchify(cpu.empty({1, 3, 4, 2}, DType::kF32), {}), Error);
  EXPECT_THROW(rope(cpu.empty({1, 3, 4}, DType::kF32), cpu.empty({3, 2, 3}, DType::kF32)), Error);
  EXPECT_THROW(embedding(cpu, std::vector<int32_t>{4}, random_weight({4, 5}, 1), DType::kF32), Error);
  EXPECT_THROW(embedding(cpu, std::vector<int32_t>{-1}, random_weight({4, 5}, 1), DType::kF32), Error);
}

TEST(OpsShapes, ColumnsOfOneRowAreNoCopy) {
  CpuDevice cpu;
  const Tensor x = from_values(cpu, std::vector<float>{1, 2, 3, 4, 5, 6}, {1, 6});
  const Tensor y = columns(x, 2, 5);
  EXPECT_EQ(to_values(y), (std::vector<float>{3, 4, 5}));
  EXPECT_EQ(y.data<float>(), x.data<float>() + 2);
  EXPECT_EQ(to_values(columns(x.reshape({2, 3}), 1, 3)), (std::vector<float>{2, 3, 5, 6}));
}

TEST(OpsShapes, MetaBooksWithoutMemory) {
  MetaDevice meta;
  const Weight w = random_weight({50, 20}, 1);
  {
    const Tensor x = meta.empty({1000, 1000, 20}, DType::kBF16);
    const Tensor y = linear(x, w, nullptr);
    EXPECT_EQ(to_string(y.shape()), "[1000, 1000, 50]");
    EXPECT_EQ(y.raw(), nullptr);
  }
  EXPECT_EQ(meta.flops(), int64_t{2} * 1000000 * 20 * 50);
  EXPECT_EQ(meta.peak_bytes(), int64_t{2} * 1000000 * 70);
  EXPECT_EQ(meta.weight_elements(), 1000);
}

TEST(CpuDeviceTest, TellsWhenMemoryRunsOut) {
  CpuDevice cpu;
  try {
    (void)cpu.allocate(int64_t{1} << 55);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
  }
}

TEST(CpuDeviceTest, InterruptStopsTheNextOperation) {
  CpuDevice cpu;
  const Tensor x = from_values(cpu, std::vector<float>{1, 2}, {2});
  cpu.set_interrupt([] { return true; });
  EXPECT_THROW(add(x, x), Error);
  cpu.set_interrupt({});
  EXPECT_EQ(to_values(add(x, x)), (std::vector<float>{2, 4}));
}

}  // namespace
}  // namespace gesso
