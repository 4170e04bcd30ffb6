#include "text/t5_encoder.h"

#include "base/error.h"
#include "base/threads.h"
#include "device/cpu/cpu_device.h"
#include "device/meta/meta_device.h"
#include "support/golden.h"

namespace gesso {
namespace {

struct T5 : ::testing::Test {
  CpuDevice cpu;
  Golden golden{"t5"};
  std::unique_ptr<WeightStore> store = golden.store("");
  T5Encoder encoder{WeightScope(*store)};

  std::vector<int32_t> ids(const std::string& name) {
    std::vector<int32_t> result;
    for (float id : to_values(golden.tensor(cpu, name + ".ids"))) result.push_back(static_cast<int32_t>(id));
    return result;
  }
};

TEST_F(T5, EqualsReference) {
  for (const std::string& name : golden.cases())
    EXPECT_LT(relative_error(encoder(cpu, DType::kF32, ids(name)), golden.tensor(cpu, name + ".out")), kF32Bound)
        << name;
}

TEST_F(T5, InBf16AsNearAsTheReferenceInBf16) {
  if (!cpu.computes_bf16()) GTEST_SKIP() << "bf16 takes AVX-512";
  for (const std::string& name : golden.cases()) {
    // A quarter more leaves room for the luck of rounding.
    const double bound = 1.25 * to_values(golden.tensor(cpu, name + ".bf16_error"))[0];
    const Tensor out = cast(encoder(cpu, DType::kBF16, ids(name)), DType::kF32);
    EXPECT_LT(rms_error(out, golden.tensor(cpu, name + ".out")), bound) << name;
  }
}

TEST_F(T5, SameBytesWhateverTheThreadCount) {
  const auto with_threads = [&](int threads) {
    set_thread_count(threads);
    std::vector<float> values = to_values(encoder(cpu, DType::kF32, ids("odd")));
    set_thread_count(0);
    return values;
  };
  EXPECT_EQ(with_threads(1), with_threads(3));
}

TEST_F(T5, MetaTellsCostAndEveryWeight) {
  MetaDevice meta;
  const Tensor y = encoder(meta, DType::kF32, ids("odd"));
  EXPECT_EQ(to_string(y.shape()), "[1, 77, 24]");
  EXPECT_GT(meta.flops(), 100000);
  // The tables of tokens and of distances are read by row and not booked.
  std::set<std::string> expected, used;
  for (const std::string& name : store->names())
    if (!name.starts_with("golden.") && name != "shared.weight" && name.find("relative") == std::string::npos)
      expected.insert(name);
  for (const WeightData* weight : meta.weights()) used.insert(weight->name());
  EXPECT_EQ(used, expected);
}

TEST(T5Errors, NameWhatIsMissing) {
  WeightStore empty("T5 text encoder");
  EXPECT_THAT([&] { T5Encoder{WeightScope(empty)}; },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("shared.weight")));
}

}  // namespace
}  // namespace gesso
