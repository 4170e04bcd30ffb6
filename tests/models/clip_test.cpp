// The OpenCLIP text encoders, read from the names that checkpoints of SD 2.x and SDXL have, against transformers.
#include "device/cpu/cpu_device.h"
#include "models/recognise.h"
#include "support/golden.h"
#include "text/clip_encoder.h"

namespace gesso {
namespace {

struct Encoder {
  const char* golden;
  Role role;
  const char* heads;
};

struct OpenClip : testing::TestWithParam<Encoder> {
  CpuDevice cpu;
  Golden golden{GetParam().golden};
  WeightStore store{"text encoder"};

  /// Binds what recognition finds; the fused q, k, v are read as three.
  void SetUp() override {
    const Recognition found = recognise(golden.file->tensors(), golden.file->metadata());
    const Component* component = found.find(GetParam().role);
    ASSERT_TRUE(component);
    EXPECT_EQ(component->scheme, "OpenCLIP");
    EXPECT_EQ(component->complete, true);
    for (const PlacedTensor& t : component->tensors)
      store.bind(t.placement.name,
                 {golden.file, t.tensor_index, t.placement.part, t.placement.parts, t.placement.transpose});
  }
  ClipEncoder encoder() {
    return {WeightScope(store),
            {.heads = std::stoi(golden.file->metadata().at(GetParam().heads)), .activation = Activation::kGelu}};
  }
  ClipEncoder::Output run(const std::string& name, DType dtype, const ClipEncoder::Options& options) {
    std::vector<int32_t> ids;
    for (float id : to_values(golden.tensor(cpu, name + ".ids"))) ids.push_back(static_cast<int32_t>(id));
    const int end = static_cast<int>(std::max_element(ids.begin(), ids.end()) - ids.begin());  // the highest id
    return encoder()(cpu, dtype, ids, std::vector<int>{end}, options);
  }
};

TEST_P(OpenClip, EqualsReference) {
  const int layers = encoder().layers();
  for (const std::string& name : golden.cases()) {
    SCOPED_TRACE(name);
    const auto last = run(name, DType::kF32, {.pooled = true});
    EXPECT_LT(relative_error(last.hidden, golden.tensor(cpu, name + ".last")), kF32Bound);
    EXPECT_LT(relative_error(last.pooled, golden.tensor(cpu, name + ".projected")), kF32Bound);
    const auto before = run(name, DType::kF32, {.skip = 2});
    EXPECT_LT(relative_error(before.hidden, golden.tensor(cpu, name + ".penultimate_normed")), kF32Bound);
    const auto raw = run(name, DType::kF32, {.skip = 2, .final_norm = false});
    const Tensor expected = golden.tensor(cpu, name + ".hidden." + std::to_string(layers - 1));
    EXPECT_LT(relative_error(raw.hidden, expected), kF32Bound);
  }
}

TEST_P(OpenClip, InBf16) {
  if (!cpu.computes_bf16()) GTEST_SKIP() << "bf16 takes AVX-512";
  for (const std::string& name : golden.cases()) {
    const auto last = run(name, DType::kBF16, {});
    EXPECT_LT(rms_error(cast(last.hidden, DType::kF32), golden.tensor(cpu, name + ".last")), kBF16Bound) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, OpenClip,
                         testing::Values(Encoder{"clip_h", Role::kClipH, "clip_heads"},
                                         Encoder{"clip_g", Role::kClipG, "clip_g_heads"}),
                         [](const auto& tested) { return std::string(tested.param.golden); });

}  // namespace
}  // namespace gesso
