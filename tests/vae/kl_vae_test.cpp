#include "vae/kl_vae.h"

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "support/golden.h"

namespace gesso {
namespace {

struct KlVae : testing::Test {
  CpuDevice cpu;
  Golden golden{"vae_kl"};
  std::unique_ptr<WeightStore> store = golden.store("first_stage_model.");
  const int groups = static_cast<int>(store->metadata_int("vae_norm_num_groups", 32, 1, 64));

  Tensor input(const std::string& name, DType dtype = DType::kF32) {
    return cast(to_channels_last(golden.tensor(cpu, name)), dtype);
  }
  static Tensor output(const Tensor& x) { return to_channels_first(cast(x, DType::kF32)); }
};

TEST_F(KlVae, DecoderEqualsReference) {
  const KlDecoder decoder(WeightScope(*store), groups);
  for (const std::string& name : golden.cases())
    EXPECT_LT(relative_error(output(decoder(input(name + ".latent"))), golden.tensor(cpu, name + ".decoded")),
              kF32Bound)
        << name;
}

TEST_F(KlVae, DecoderInBf16) {
  if (!cpu.computes_bf16()) GTEST_SKIP() << "bf16 takes AVX-512";
  const KlDecoder decoder(WeightScope(*store), groups);
  for (const std::string& name : golden.cases())
    EXPECT_LT(rms_error(output(decoder(input(name + ".latent", DType::kBF16))), golden.tensor(cpu, name + ".decoded")),
              kBF16Bound)
        << name;
}

TEST_F(KlVae, EncoderEqualsReference) {
  const KlEncoder encoder(WeightScope(*store), groups);
  for (const std::string& name : golden.cases()) {
    const Tensor moments = output(encoder(input(name + ".image")));
    const std::vector<float> all = to_values(moments);
    const int64_t n = moments.dim(0), z = moments.dim(1) / 2, pixels = moments.dim(2) * moments.dim(3);
    std::vector<float> mean;
    for (int64_t i = 0; i < n; ++i)
      mean.insert(mean.end(), all.begin() + i * 2 * z * pixels, all.begin() + (i * 2 + 1) * z * pixels);
    EXPECT_LT(relative_error(from_values(cpu, mean, {n, z, moments.dim(2), moments.dim(3)}),
                             golden.tensor(cpu, name + ".mean")),
              kF32Bound)
        << name;
  }
}

TEST_F(KlVae, MissingTensorIsNamed) {
  WeightStore empty("VAE");
  EXPECT_THAT([&] { KlDecoder(WeightScope(empty), 32); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("decoder.conv_in.weight")));
}

}  // namespace
}  // namespace gesso
