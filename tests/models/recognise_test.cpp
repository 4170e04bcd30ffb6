#include "models/recognise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <sstream>

#include "models/manifest.h"
#include "models/registry.h"

namespace gesso {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

/// One component as a row of tests/data/expected_components.tsv: family, role, scheme, variant, supported.
std::string row(const Component& component) {
  const auto text = [](std::string_view s) { return s.empty() ? std::string("-") : std::string(s); };
  std::string line(component.family->id);
  for (const std::string& field : {std::string(to_string(component.role)), text(component.scheme),
                                   text(component.variant), std::string(component.supported ? "yes" : "no")})
    line += "\t" + field;
  return line;
}

/// The rows of each manifest.
std::map<std::string, std::multiset<std::string>> expected_rows() {
  std::map<std::string, std::multiset<std::string>> rows;
  std::ifstream file(std::string(GESSO_TEST_DATA) + "/expected_components.tsv");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t tab = line.find('\t');
    rows[line.substr(0, tab)].insert(line.substr(tab + 1));
  }
  return rows;
}

class EveryManifest : public testing::TestWithParam<std::string> {};

TEST_P(EveryManifest, IsRecognisedAsWhatItIsAndAsNothingElse) {
  const Manifest manifest = load_manifest(GetParam());
  const Recognition recognition = recognise(manifest.tensors, manifest.metadata);
  std::multiset<std::string> rows;
  for (const Component& component : recognition.components) rows.insert(row(component));
  EXPECT_EQ(rows, expected_rows()[GetParam()]);
}

TEST_P(EveryManifest, HasEveryTensorAccountedForOnce) {
  const Manifest manifest = load_manifest(GetParam());
  const Recognition recognition = recognise(manifest.tensors, manifest.metadata);
  std::vector<int> seen(manifest.tensors.size(), 0);
  for (const Component& component : recognition.components) {
    std::set<size_t> tensors;
    for (const PlacedTensor& placed : component.tensors) tensors.insert(placed.tensor_index);
    for (const size_t tensor : tensors) ++seen[tensor];
    EXPECT_EQ(component.tensor_count, tensors.size());
    if (component.complete.value_or(false)) {
      EXPECT_THAT(component.missing, IsEmpty());
    }
  }
  for (const Companion& companion : recognition.companions) ++seen[companion.tensor_index];
  for (const IgnoredTensor& ignored : recognition.ignored) ++seen[ignored.tensor_index];
  EXPECT_THAT(recognition.unknown, IsEmpty());
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], 1) << manifest.tensors[i].name;
}

TEST_P(EveryManifest, IsTheSameInAnyOrderOfTensors) {
  Manifest manifest = load_manifest(GetParam());
  const auto rows = [&] {
    std::vector<std::string> result;
    for (const Component& component : recognise(manifest.tensors, manifest.metadata).components)
      result.push_back(row(component));
    return result;
  };
  const auto before = rows();
  std::shuffle(manifest.tensors.begin(), manifest.tensors.end(), std::mt19937(1));
  EXPECT_EQ(rows(), before);
}

INSTANTIATE_TEST_SUITE_P(Manifests, EveryManifest, testing::ValuesIn(manifest_names()), [](const auto& p) {
  std::string name = p.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(Expected, HasARowForEveryManifestAndNoOther) {
  const auto rows = expected_rows();
  std::vector<std::string> names;
  for (const auto& [name, components] : rows) names.push_back(name);
  EXPECT_EQ(names, manifest_names());
}

TEST(Families, HaveUniqueIdsAndAManifestEach) {
  std::set<std::string_view> ids, with_manifest;
  for (const Family* family : families()) EXPECT_TRUE(ids.insert(family->id).second) << family->id;
  for (const auto& [name, components] : expected_rows())
    for (const std::string& line : components) {
      const auto* family = find_family(line.substr(0, line.find('\t')));
      ASSERT_TRUE(family) << line;
      with_manifest.insert(family->id);
    }
  EXPECT_EQ(ids, with_manifest);
  EXPECT_EQ(find_family("no such family"), nullptr);
}

TEST(Recognise, ACheckpointHasItsThreeComponents) {
  const Manifest manifest = load_manifest("sd15-ldm-full-ema");
  const Recognition recognition = recognise(manifest.tensors, {});
  ASSERT_EQ(recognition.components.size(), 3u);
  const Component* unet = recognition.main();
  EXPECT_EQ(unet->role, Role::kDiffusionModel);
  EXPECT_EQ(unet->prefix, "model.diffusion_model.");
  EXPECT_EQ(unet->parameters, 859520964);
  EXPECT_EQ(unet->tensor_count, 686u);
  EXPECT_EQ(recognition.find(Role::kVae)->prefix, "first_stage_model.");
  EXPECT_EQ(recognition.find(Role::kClipL)->prefix, "cond_stage_model.transformer.");
  EXPECT_EQ(recognition.find(Role::kClipG), nullptr);
  EXPECT_THAT(recognition.markers, ElementsAre("alphas_cumprod"));
  EXPECT_EQ(recognition.ignored.size(), 1831u - 686 - 248 - 196);
}

TEST(Recognise, MarkersOfPredictionAreToldNotLost) {
  const Manifest manifest = load_manifest("sdxl-base-sgm-markers");
  EXPECT_THAT(recognise(manifest.tensors, {}).markers, ElementsAre("alphas_cumprod", "edm_vpred", "v_pred", "ztsnr"));
}

TEST(Recognise, ASmallModelOfTheSameStructureIsOfTheFamily) {
  const Manifest manifest = load_manifest("sd15-ldm-tiny");
  const Recognition recognition = recognise(manifest.tensors, manifest.metadata);
  ASSERT_EQ(recognition.components.size(), 3u);
  for (const Component& component : recognition.components)
    EXPECT_EQ(component.complete, true) << component.missing.front();
  EXPECT_EQ(recognition.main()->family->id, "sd1");
}

TEST(Recognise, ALostTensorMakesAComponentIncomplete) {
  Manifest manifest = load_manifest("sd15-ldm");
  std::erase_if(manifest.tensors, [](const TensorInfo& t) { return t.name == "model.diffusion_model.out.2.weight"; });
  const Recognition recognition = recognise(manifest.tensors, {});
  EXPECT_EQ(recognition.main()->complete, false);
  EXPECT_THAT(recognition.main()->missing, ElementsAre("out.2.weight"));
}

TEST(Recognise, AStrangeTensorIsUnknown) {
  Manifest manifest = load_manifest("sd15-ldm");
  manifest.tensors.push_back({"model.diffusion_model.extra.weight", DType::kF16, {1}, 0, 0});
  manifest.tensors.push_back({"model.diffusion_model.input_blocks.0.0.weight_extra", DType::kF16, {1}, 0, 0});
  EXPECT_THAT(recognise(manifest.tensors, {}).unknown, ElementsAre(1131u, 1132u));
}

TEST(Recognise, ASecondTensorForTheSameWeightIsIgnoredWithItsName) {
  Manifest manifest = load_manifest("openclip-bigg-sgm");
  manifest.tensors.push_back({"text_projection.weight", DType::kF16, {1280, 1280}, 0, 0});
  const Recognition recognition = recognise(manifest.tensors, {});
  std::vector<std::string> reasons;
  for (const IgnoredTensor& ignored : recognition.ignored) reasons.push_back(ignored.reason);
  EXPECT_THAT(reasons, Contains("a second tensor for text_projection.weight"));
  EXPECT_THAT(recognition.unknown, IsEmpty());
}

TEST(Recognise, AnUnknownFileIsComparedWithTheNearest) {
  Manifest manifest = load_manifest("flux1-dev-bfl");
  std::erase_if(manifest.tensors, [](const TensorInfo& t) { return t.name.starts_with("vector_in"); });
  const Recognition recognition = recognise(manifest.tensors, {});
  EXPECT_THAT(recognition.components, IsEmpty());
  EXPECT_EQ(recognition.main(), nullptr);
  ASSERT_FALSE(recognition.nearest.empty());
  EXPECT_LE(recognition.nearest.size(), 3u);
  EXPECT_EQ(recognition.nearest[0].family->id, "flux1");
  EXPECT_THAT(recognition.nearest[0].missing, ElementsAre("vector_in.in_layer.weight"));
  EXPECT_EQ(recognition.unknown.size(), manifest.tensors.size());
}

TEST(Recognise, MetadataTellTheFamilyOfAnAdapterThatNamesDoNot) {
  const std::vector<TensorInfo> tensors{{"lora_unet_some_module.lora_down.weight", DType::kF16, {4, 320}, 0, 0},
                                        {"lora_unet_some_module.lora_up.weight", DType::kF16, {320, 4}, 0, 0}};
  EXPECT_THAT(recognise(tensors, {}).components, IsEmpty());
  const Recognition recognition = recognise(tensors, {{"ss_base_model_version", "sdxl_base_v1-0"}});
  ASSERT_EQ(recognition.components.size(), 1u);
  EXPECT_EQ(recognition.components[0].family->id, "sdxl");
  EXPECT_EQ(recognition.components[0].tensor_count, 2u);
}

TEST(Recognise, BothWeightsOfAnUpscalerGiveOneComponent) {
  Manifest manifest = load_manifest("realesrgan-x4-rrdb23");
  std::vector<TensorInfo> both;
  for (const std::string prefix : {"params.", "params_ema."})
    for (TensorInfo tensor : manifest.tensors) {
      tensor.name = prefix + tensor.name;
      both.push_back(tensor);
    }
  const Recognition recognition = recognise(both, {});
  ASSERT_EQ(recognition.components.size(), 1u);
  EXPECT_EQ(recognition.components[0].prefix, "params_ema.");
  EXPECT_EQ(recognition.ignored.size(), manifest.tensors.size());
}

TEST(Recognise, HostileFilesAreHandled) {
  EXPECT_THAT(recognise({}, {}).components, IsEmpty());
  constexpr int64_t kHuge = int64_t{1} << 62;
  std::vector<TensorInfo> tensors;
  for (const char* name :
       {"", ".", "weight", "input_blocks.0.0.weight", "input_blocks.999999.0.in_layers.0.weight",
        "input_blocks.99999999999999999999.0.op.weight", "output_blocks.0.0.in_layers.0.weight",
        "input_blocks.1.1.proj_in.weight", "input_blocks.1.1.transformer_blocks.999999.attn2.to_k.weight", "\xff\x00x"})
    tensors.push_back({name, DType::kF32, {kHuge, kHuge, kHuge, 1}, 0, 0});
  tensors.push_back(tensors[3]);
  const Recognition recognition = recognise(tensors, {{"ss_base_model_version", ""}});
  ASSERT_EQ(recognition.components.size(), 1u);
  EXPECT_EQ(recognition.components[0].complete, false);
  EXPECT_LE(recognition.components[0].missing.size(), Component::kMaxMissing);
  EXPECT_EQ(recognition.components[0].parameters, std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace gesso
