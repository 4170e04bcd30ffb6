#include "models/unet.h"

#include "base/error.h"
#include "base/threads.h"
#include "device/cpu/cpu_device.h"
#include "device/meta/meta_device.h"
#include "support/golden.h"

namespace gesso {
namespace {

struct UNetGolden : testing::TestWithParam<const char*> {
  CpuDevice cpu;
  Golden golden{GetParam()};
  std::unique_ptr<WeightStore> store = golden.store("model.diffusion_model.");
  UNet unet = make();

  UNet make() {
    UNet::Config config;
    config.groups = static_cast<int>(store->metadata_int("unet_norm_num_groups", 32, 1, 64));
    config.heads = static_cast<int>(store->metadata_int("num_heads", 0, 0, 64));
    config.head_channels = static_cast<int>(store->metadata_int("num_head_channels", 64, 1, 640));
    return UNet(WeightScope(*store), config);
  }

  Tensor run(const std::string& name, DType dtype) {
    const Tensor x = cast(to_channels_last(golden.tensor(cpu, name + ".x")), dtype);
    const std::vector<float> t = to_values(golden.tensor(cpu, name + ".t"));
    const Tensor context = cast(golden.tensor(cpu, name + ".context"), dtype);
    const Tensor vector = golden.has(name + ".y") ? cast(golden.tensor(cpu, name + ".y"), dtype) : Tensor();
    return to_channels_first(cast(unet(x, t, context, vector), DType::kF32));
  }
};

TEST_P(UNetGolden, EqualsReference) {
  for (const std::string& name : golden.cases())
    EXPECT_LT(relative_error(run(name, DType::kF32), golden.tensor(cpu, name + ".out")), kF32Bound) << name;
}

TEST_P(UNetGolden, InBf16AsNearAsTheReferenceInBf16) {
  if (!cpu.computes_bf16()) GTEST_SKIP() << "bf16 takes AVX-512";
  for (const std::string& name : golden.cases()) {
    // A quarter more leaves room for the luck of rounding.
    const double bound = 1.25 * to_values(golden.tensor(cpu, name + ".bf16_error"))[0];
    EXPECT_LT(rms_error(run(name, DType::kBF16), golden.tensor(cpu, name + ".out")), bound) << name;
  }
}

TEST_P(UNetGolden, UsesEveryTensor) {
  EXPECT_THAT(store->unused(), testing::IsEmpty());
}

TEST_P(UNetGolden, SameBytesWhateverTheThreadCount) {
  set_thread_count(1);
  const std::vector<float> one = to_values(run("square", DType::kF32));
  set_thread_count(2);
  const std::vector<float> two = to_values(run("square", DType::kF32));
  set_thread_count(0);
  EXPECT_EQ(one, two);
}

TEST_P(UNetGolden, MetaTellsCostAndEveryWeight) {
  MetaDevice meta;
  const Tensor x = meta.empty({2, 16, 16, unet.in_channels()}, DType::kF32);
  const Tensor context = meta.empty({2, 77, unet.context_width()}, DType::kF32);
  const Tensor vector = unet.vector_width() ? meta.empty({2, unet.vector_width()}, DType::kF32) : Tensor();
  const Tensor y = unet(x, std::vector<float>{1, 1}, context, vector);
  EXPECT_EQ(to_string(y.shape()), to_string(Shape{2, 16, 16, unet.out_channels()}));
  EXPECT_GT(meta.flops(), 1000000);
  EXPECT_GT(meta.peak_bytes(), x.bytes());
  EXPECT_EQ(meta.weights().size(), store->size());
}

INSTANTIATE_TEST_SUITE_P(Families, UNetGolden, testing::Values("unet_sd1", "unet_sd2", "unet_sdxl"),
                         [](const auto& p) { return std::string(p.param); });

}  // namespace
}  // namespace gesso
