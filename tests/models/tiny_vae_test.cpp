// The tiny autoencoders against diffusers, and their names in every tool.
#include "vae/tiny_vae.h"

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/meta/meta_device.h"
#include "models/manifest_file.h"
#include "models/named_store.h"
#include "support/golden.h"

namespace gesso {
namespace {

struct TinyVae : ::testing::Test {
  CpuDevice cpu;
  Golden golden{"taesd"};
  std::unique_ptr<WeightStore> store = named_store(golden.file, Role::kTinyVae);

  void SetUp() override { ASSERT_TRUE(store); }
  /// A golden tensor, channels last, as scale * value + offset.
  Tensor golden_input(const std::string& name, DType dtype, float scale = 1, float offset = 0) {
    const Tensor x = golden.tensor(cpu, name);
    std::vector<float> values = to_values(x);
    for (float& v : values) v = scale * v + offset;
    return cast(to_channels_last(from_values(cpu, values, x.shape())), dtype);
  }
  Tensor decoded(const std::string& name, DType dtype) {
    const TinyDecoder decoder{WeightScope(*store)};
    return to_channels_first(cast(decoder(golden_input(name + ".latent", dtype)), DType::kF32));
  }
  /// diffusers gives pictures in -1..1.
  Tensor expected_picture(const std::string& name) {
    return to_channels_first(golden_input(name + ".decoded", DType::kF32, 0.5f, 0.5f));
  }
};

TEST_F(TinyVae, DecoderEqualsReference) {
  ASSERT_EQ(golden.cases().size(), 3u);
  for (const std::string& name : golden.cases())
    EXPECT_LT(relative_error(decoded(name, DType::kF32), expected_picture(name)), kF32Bound) << name;
}

TEST_F(TinyVae, DecoderInBf16) {
  if (!cpu.computes_bf16()) GTEST_SKIP() << "bf16 takes AVX-512";
  for (const std::string& name : golden.cases())
    EXPECT_LT(rms_error(decoded(name, DType::kBF16), expected_picture(name)), kBF16Bound) << name;
}

TEST_F(TinyVae, EncoderEqualsReference) {
  const TinyEncoder encoder{WeightScope(*store)};
  for (const std::string& name : golden.cases()) {
    const Tensor latent = encoder(golden_input(name + ".image", DType::kF32, 0.5f, 0.5f));
    EXPECT_LT(relative_error(to_channels_first(latent), golden.tensor(cpu, name + ".encoded")), kF32Bound) << name;
  }
}

TEST_F(TinyVae, ShapesSayWhatItIs) {
  const TinyDecoder decoder{WeightScope(*store)};
  EXPECT_EQ(decoder.latent_channels(), 4);
  EXPECT_EQ(decoder.scale(), 8);
  EXPECT_EQ(TinyEncoder(WeightScope(*store)).latent_channels(), 4);
}

TEST_F(TinyVae, HalfOfItSaysWhatIsMissing) {
  WeightStore empty("tiny autoencoder");
  EXPECT_THAT([&] { TinyDecoder(WeightScope(empty)); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("decoder.conv_in.weight")));
}

/// The tensors of a manifest under names that `rename` makes.
std::vector<TensorInfo> renamed(const Manifest& manifest,
                                const std::function<std::string(const std::string&)>& rename) {
  std::vector<TensorInfo> tensors = manifest.tensors;
  for (TensorInfo& tensor : tensors) tensor.name = rename(tensor.name);
  return tensors;
}

/// Our names in the order of the file.
std::vector<std::string> our_names(const std::vector<TensorInfo>& tensors) {
  const Recognition recognition = recognise(tensors, {});
  EXPECT_EQ(recognition.components.size(), 1u);
  EXPECT_THAT(recognition.unknown, ::testing::IsEmpty());
  std::vector<std::string> names;
  const Component* component = recognition.find(Role::kTinyVae);
  if (!component) return names;
  EXPECT_EQ(component->complete, true);
  EXPECT_TRUE(component->supported);
  for (const PlacedTensor& placed : component->tensors) names.push_back(placed.placement.name);
  return names;
}

TEST(TinyVaeNames, AreTheSameFromEveryTool) {
  for (const std::string side : {"decoder", "encoder"})
    for (const std::string prefix : {"taesd-", "taesd3-"}) {
      const Manifest manifest = load_manifest(prefix + side);
      const auto as_is = our_names(manifest.tensors);
      EXPECT_EQ(as_is.size(), manifest.tensors.size());
      EXPECT_EQ(our_names(renamed(manifest, [&](const std::string& n) { return side + "." + n; })), as_is);
      EXPECT_EQ(our_names(renamed(manifest, [&](const std::string& n) { return "taesd_" + side + "." + n; })), as_is);
      EXPECT_EQ(our_names(renamed(manifest, [&](const std::string& n) { return "vae." + side + "." + n; })), as_is);
      EXPECT_EQ(our_names(renamed(manifest,
                                  [&](const std::string& n) {
                                    const size_t dot = n.find('.');
                                    const int number = std::stoi(n.substr(0, dot)) - (side == "decoder" ? 1 : 0);
                                    return side + ".layers." + std::to_string(number) + n.substr(dot);
                                  })),
                as_is);
    }
}

TEST(TinyVaeNames, ALayerThatIsNotThereIsNamed) {
  Manifest manifest = load_manifest("taesd-decoder");
  std::erase_if(manifest.tensors,
                [](const TensorInfo& t) { return t.name.starts_with("18.") || t.name == "7.weight"; });
  const Recognition recognition = recognise(manifest.tensors, {});
  const Component* component = recognition.find(Role::kTinyVae);
  ASSERT_TRUE(component);
  EXPECT_EQ(component->complete, false);
  EXPECT_THAT(component->missing, ::testing::IsSupersetOf({"decoder.level.0.resample.*", "decoder.level.3.block.0.*"}));
}

TEST(TinyVaeNames, RealFilesBuild) {
  MetaDevice meta;
  for (const auto& [name, channels] : {std::pair("taesd-decoder", 4), {"taesd3-decoder", 16}, {"taesd-diffusers", 4}}) {
    const auto file = std::make_shared<ManifestFile>(name);
    const auto store = named_store(file, Role::kTinyVae);
    const TinyDecoder decoder{WeightScope(*store)};
    EXPECT_EQ(decoder.latent_channels(), channels);
    EXPECT_EQ(decoder(meta.empty({1, 3, 5, channels}, DType::kF32)).shape(), (Shape{1, 24, 40, 3}));
    if (store->has("encoder.conv_in.weight")) {
      EXPECT_EQ(TinyEncoder(WeightScope(*store)).latent_channels(), channels);
    }
    EXPECT_THAT(store->unused(), ::testing::IsEmpty());
  }
}

}  // namespace
}  // namespace gesso
