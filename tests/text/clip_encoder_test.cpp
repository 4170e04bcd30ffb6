#include "text/clip_encoder.h"

#include "device/cpu/cpu_device.h"
#include "support/golden.h"

namespace gesso {
namespace {

struct ClipL : testing::Test {
  CpuDevice cpu;
  Golden golden{"clip_l"};
  std::unique_ptr<WeightStore> store = golden.store("cond_stage_model.transformer.");
  ClipEncoder encoder{WeightScope(*store), {.heads = 3, .activation = Activation::kQuickGelu}};

  ClipEncoder::Output run(const std::string& name, DType dtype, const ClipEncoder::Options& options) {
    std::vector<int32_t> ids;
    for (float id : to_values(golden.tensor(cpu, name + ".ids"))) ids.push_back(static_cast<int32_t>(id));
    // The end token has the highest id.
    const int end = static_cast<int>(std::max_element(ids.begin(), ids.end()) - ids.begin());
    return encoder(cpu, dtype, ids, std::vector<int>{end}, options);
  }
  Tensor expected(const std::string& name) { return golden.tensor(cpu, name); }
};

TEST_F(ClipL, EqualsReference) {
  for (const std::string& name : golden.cases()) {
    const auto last = run(name, DType::kF32, {.pooled = true});
    EXPECT_LT(relative_error(last.hidden, expected(name + ".last")), kF32Bound) << name;
    EXPECT_LT(relative_error(last.pooled, expected(name + ".pooled")), kF32Bound) << name;
    const auto before = run(name, DType::kF32, {.skip = 2});
    EXPECT_LT(relative_error(before.hidden, expected(name + ".penultimate_normed")), kF32Bound) << name;
    const auto raw = run(name, DType::kF32, {.skip = 2, .final_norm = false});
    EXPECT_LT(relative_error(raw.hidden, expected(name + ".hidden." + std::to_string(encoder.layers() - 1))),
              kF32Bound);
  }
}

TEST_F(ClipL, InBf16) {
  if (!cpu.computes_bf16()) GTEST_SKIP() << "bf16 takes AVX-512";
  for (const std::string& name : golden.cases()) {
    const auto last = run(name, DType::kBF16, {});
    EXPECT_LT(rms_error(cast(last.hidden, DType::kF32), expected(name + ".last")), kBF16Bound) << name;
  }
}

}  // namespace
}  // namespace gesso
