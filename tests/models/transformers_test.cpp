// The flow transformers against diffusers, and the real files of their families on the meta device.
#include "base/error.h"
#include "base/threads.h"
#include "device/cpu/cpu_device.h"
#include "device/meta/meta_device.h"
#include "models/flux.h"
#include "models/manifest_file.h"
#include "models/mmdit.h"
#include "models/named_store.h"
#include "nn/embeddings.h"
#include "support/golden.h"
#include "text/t5_encoder.h"

namespace gesso {
namespace {

using testing::IsEmpty;

Tensor input(const Golden& golden, const std::string& name, const Tensor& like) {
  return cast(golden.tensor(like.device(), name), like.dtype());
}

Tensor run_flux(WeightStore& store, const Tensor& x, const std::vector<float>& t, const Golden& golden,
                const std::string& name) {
  const Flux flux{WeightScope(store)};
  std::vector<float> guidance = to_values(golden.tensor(x.device(), name + ".guidance"));
  for (float& g : guidance) g *= 1000;
  const Tensor vector =
      concat(input(golden, name + ".pooled", x), nn::sinusoids(x.device(), guidance, flux.guidance_width(), x.dtype()));
  return flux(x, t, input(golden, name + ".context", x), vector);
}

Tensor run_mmdit(WeightStore& store, const Tensor& x, const std::vector<float>& t, const Golden& golden,
                 const std::string& name) {
  const MmDit mmdit(WeightScope(store), {});
  return mmdit(x, t, input(golden, name + ".context", x), input(golden, name + ".y", x));
}

struct Case {
  const char* golden;
  Tensor (*run)(WeightStore& store, const Tensor& x, const std::vector<float>& t, const Golden& golden,
                const std::string& name);
};

struct Transformer : testing::TestWithParam<Case> {
  CpuDevice cpu;
  Golden golden{GetParam().golden};
  std::unique_ptr<WeightStore> store = named_store(golden.file, Role::kDiffusionModel);

  void SetUp() override { ASSERT_TRUE(store); }
  Tensor run(const std::string& name, DType dtype) {
    const Tensor x = cast(to_channels_last(golden.tensor(cpu, name + ".x")), dtype);
    const std::vector<float> t = to_values(golden.tensor(cpu, name + ".t"));
    return to_channels_first(cast(GetParam().run(*store, x, t, golden, name), DType::kF32));
  }
};

TEST_P(Transformer, EqualsReference) {
  ASSERT_EQ(golden.cases().size(), 4u);
  for (const std::string& name : golden.cases())
    EXPECT_LT(relative_error(run(name, DType::kF32), golden.tensor(cpu, name + ".out")), kF32Bound) << name;
}

TEST_P(Transformer, InBf16AsNearAsTheReferenceInBf16) {
  if (!cpu.computes_bf16()) GTEST_SKIP() << "bf16 takes AVX-512";
  for (const std::string& name : golden.cases()) {
    // A quarter more leaves room for the luck of rounding.
    const double bound = 1.25 * to_values(golden.tensor(cpu, name + ".bf16_error"))[0];
    EXPECT_LT(rms_error(run(name, DType::kBF16), golden.tensor(cpu, name + ".out")), bound) << name;
  }
}

TEST_P(Transformer, UsesEveryTensor) {
  (void)run("square", DType::kF32);
  EXPECT_THAT(store->unused(), IsEmpty());
}

TEST_P(Transformer, SameBytesWhateverTheThreadCount) {
  set_thread_count(1);
  const std::vector<float> one = to_values(run("wide_batch", DType::kF32));
  set_thread_count(3);
  const std::vector<float> three = to_values(run("wide_batch", DType::kF32));
  set_thread_count(0);
  EXPECT_EQ(one, three);
}

INSTANTIATE_TEST_SUITE_P(Families, Transformer, testing::Values(Case{"flux1", run_flux}, Case{"sd3", run_mmdit}),
                         [](const auto& p) { return std::string(p.param.golden); });

/// What a real file lacks, of what the grammar of its network wants.
std::vector<std::string> missing(const ManifestFile& file, Role role) {
  const Recognition recognition = recognise(file.tensors(), file.metadata());
  return recognition.find(role)->missing;
}

/// Weights that were bound but that the run on the meta device did not book.
std::set<std::string> not_booked(const WeightStore& store, const MetaDevice& meta) {
  std::set<std::string> names;
  for (const std::string& name : store.names()) names.insert(name);
  for (const WeightData* weight : meta.weights()) names.erase(weight->name());
  return names;
}

class RealFlux : public testing::TestWithParam<const char*> {};

TEST_P(RealFlux, BuildsAndRunsOnMetaWithNoTensorLeftOver) {
  const auto file = std::make_shared<ManifestFile>(GetParam());
  const auto store = named_store(file, Role::kDiffusionModel);
  ASSERT_TRUE(store);
  EXPECT_THAT(missing(*file, Role::kDiffusionModel), IsEmpty());
  const Flux flux{WeightScope(*store)};
  EXPECT_EQ(flux.channels(), 16);
  MetaDevice meta;
  const int64_t vector = flux.pooled_width() + (flux.takes_guidance() ? flux.guidance_width() : 0);
  const Tensor y =
      flux(meta.empty({1, 128, 128, 16}, DType::kBF16), std::vector<float>{500},
           meta.empty({1, 512, flux.context_width()}, DType::kBF16), meta.empty({1, vector}, DType::kBF16));
  EXPECT_EQ(to_string(y.shape()), "[1, 128, 128, 16]");
  EXPECT_THAT(store->unused(), IsEmpty());
  EXPECT_THAT(not_booked(*store, meta), IsEmpty());
  EXPECT_GT(meta.weight_elements(), int64_t{11800} * 1000 * 1000);  // "12B"
}

INSTANTIATE_TEST_SUITE_P(Manifests, RealFlux,
                         testing::Values("flux1-dev-bfl", "flux1-dev-bfl-prefixed", "flux1-dev-bundle-comfy",
                                         "flux1-dev-diffusers", "flux1-schnell-bfl", "flux1-schnell-diffusers"));

class RealMmDit : public testing::TestWithParam<const char*> {};

TEST_P(RealMmDit, BuildsAndRunsOnMetaWithNoTensorLeftOver) {
  const auto file = std::make_shared<ManifestFile>(GetParam());
  const auto store = named_store(file, Role::kDiffusionModel);
  ASSERT_TRUE(store);
  EXPECT_THAT(missing(*file, Role::kDiffusionModel), IsEmpty());
  const MmDit mmdit(WeightScope(*store), {});
  MetaDevice meta;
  const Tensor y =
      mmdit(meta.empty({2, 128, 128, 16}, DType::kBF16), std::vector<float>{500, 500},
            meta.empty({2, 333, mmdit.context_width()}, DType::kBF16), meta.empty({2, 2048}, DType::kBF16));
  EXPECT_EQ(to_string(y.shape()), "[2, 128, 128, 16]");
  EXPECT_THAT(store->unused(), IsEmpty());
  EXPECT_EQ(not_booked(*store, meta), std::set<std::string>{"pos_embed.weight"});  // read by row
  EXPECT_GT(meta.weight_elements(), int64_t{1900} * 1000 * 1000);
}

INSTANTIATE_TEST_SUITE_P(Manifests, RealMmDit,
                         testing::Values("sd3-medium-incl-clips", "sd3-medium-incl-clips-t5", "sd3-medium-comfy-saved",
                                         "sd35-medium", "sd35-large", "sd35-large-diffusers"));

class RealT5 : public testing::TestWithParam<const char*> {};

TEST_P(RealT5, BuildsAndRunsOnMetaWithNoTensorLeftOver) {
  const auto file = std::make_shared<ManifestFile>(GetParam());
  const auto store = named_store(file, Role::kT5);
  ASSERT_TRUE(store);
  const T5Encoder t5{WeightScope(*store)};
  EXPECT_EQ(t5.width(), 4096);
  EXPECT_THAT(missing(*file, Role::kT5), IsEmpty());
  EXPECT_THAT(store->unused(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Manifests, RealT5,
                         testing::Values("t5xxl-encoder-hf", "t5xxl-encoder-hf-embed-twice", "flux1-dev-bundle-comfy",
                                         "sd3-medium-incl-clips-t5", "t5xxl-fp16-comfy-block0"));

TEST(MmDitErrors, TooLargeAPictureIsRefused) {
  const Golden golden("sd3");
  const auto store = named_store(golden.file, Role::kDiffusionModel);
  const MmDit mmdit(WeightScope(*store), {});
  MetaDevice meta;
  EXPECT_THAT(
      [&] {
        (void)mmdit(meta.empty({1, 26, 8, 16}, DType::kF32), std::vector<float>{1},
                    meta.empty({1, 3, mmdit.context_width()}, DType::kF32),
                    meta.empty({1, mmdit.vector_width()}, DType::kF32));
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("at most 12 tokens")));
}

TEST(MmDitErrors, AnIncompleteFileIsRefused) {
  const Golden golden("sd3");
  // Block 1 is the last, whose text side ends early; without it block 0 is no last one.
  WeightStore store("diffusion model");
  const Recognition recognition = recognise(golden.file->tensors(), {});
  for (const auto& [index, p] : recognition.find(Role::kDiffusionModel)->tensors)
    if (!p.name.starts_with("joint_blocks.1."))
      store.bind(p.name, {golden.file, index, p.part, p.parts, p.transpose, p.span});
  EXPECT_THAT([&] { MmDit(WeightScope(store), {}); }, testing::ThrowsMessage<Error>(testing::HasSubstr("incomplete")));
}

}  // namespace
}  // namespace gesso
