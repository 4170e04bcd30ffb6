#include "models/inspect_details.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/manifest.h"

namespace gesso {
namespace {

RecognisedFile recognised_manifest(const Manifest& manifest) {
  return {"m", "safetensors", manifest.tensors, recognise(manifest.tensors, manifest.metadata), manifest.metadata};
}

TEST(InspectDetails, TokenizersInsideAreToldOf) {
  const Manifest mistral = load_manifest("mistral3-small-flux2-comfy-fp8-block0");
  const RecognisedFile other = recognised_manifest(mistral);
  const ModelReport report = describe(std::span(&other, 1));
  EXPECT_EQ(report.json["files"][0]["tokenizer"]["model"], "tekken_model");
  EXPECT_THAT(report.lines, ::testing::Contains(::testing::HasSubstr("tokenizer: tekken_model")));

  RecognisedFile gguf{"m.gguf", "gguf", {}, {}, {}};
  gguf.metadata = {{"tokenizer.ggml.model", "t5"}, {"tokenizer.ggml.tokens", "['<pad>', 'a', ... 32128 in all]"}};
  const ModelReport found = describe(std::span(&gguf, 1));
  EXPECT_EQ(found.json["files"][0]["tokenizer"]["tokens"], 32128);
  EXPECT_THAT(found.lines, ::testing::Contains("  tokenizer: t5, in the metadata, 32128 tokens"));
}

TEST(InspectDetails, MetadataAreShownAndCut) {
  RecognisedFile file{"m", "safetensors", {}, {}, {}};
  for (int i = 0; i < 20; ++i) file.metadata["key" + std::to_string(10 + i)] = "value\x1b" + std::to_string(i);
  file.metadata["a"] = std::string(5000, 'x');
  file.metadata["b"] = std::string(99, 'y') + "\u00e9 and more";  // 100 bytes end inside the letter
  const ModelReport report = describe(std::span(&file, 1));
  EXPECT_THAT(report.lines, ::testing::Contains("  key10 = value?0"));
  EXPECT_THAT(report.lines, ::testing::Contains("  a = " + std::string(100, 'x') + "... (5000 bytes in all)"));
  EXPECT_THAT(report.lines, ::testing::Contains("  b = " + std::string(99, 'y') + "... (110 bytes in all)"));
  EXPECT_THAT(report.lines, ::testing::Contains("  and 10 more entries of metadata: --json has them"));
  EXPECT_EQ(report.json["files"][0]["metadata"].size(), 22u);
}

TEST(InspectDetails, AdaptersTellModulesAndRanks) {
  const Manifest manifest = load_manifest("lora-sd15-unet-kohya-alpha");
  const RecognisedFile file = recognised_manifest(manifest);
  EXPECT_THAT(describe(std::span(&file, 1)).lines,
              ::testing::Contains(::testing::ContainsRegex("[0-9]+ modules of rank")));
}

TEST(InspectDetails, SizesAreOfTheBytesStored) {
  std::vector<TensorInfo> tensors = load_manifest("sd15-vae-ldm").tensors;
  for (TensorInfo& t : tensors) t.bytes = static_cast<uint64_t>(t.shape.elements()) * 2;
  const RecognisedFile file{"m", "safetensors", tensors, recognise(tensors, {}), {}};
  const ModelReport report = describe(std::span(&file, 1));
  const Json& component = report.json["files"][0]["components"][0];
  EXPECT_EQ(component["bytes"], 2 * component["parameters"].get<int64_t>());
  EXPECT_THAT(report.lines[1], ::testing::HasSubstr("167.3 MB, 16.00 bits each"));
}

TEST(InspectDetails, EveryTensorIsListedWithItsUse) {
  const Manifest manifest = load_manifest("flux1-dev-scaled-fp8-block0");
  const RecognisedFile file = recognised_manifest(manifest);
  const ModelReport report = list_tensors(std::span(&file, 1));
  const Json& tensors = report.json[0]["tensors"];
  ASSERT_EQ(tensors.size(), manifest.tensors.size());
  std::map<std::string, std::string> uses;
  for (const Json& t : tensors) uses[t["name"]] = t["use"];
  EXPECT_EQ(
      uses["double_blocks.0.img_attn.qkv.weight"],
      "diffusion_model double_blocks.0.img_attn.q.weight,double_blocks.0.img_attn.k.weight,double_blocks.0.img_attn.v."
      "weight");
  EXPECT_EQ(uses["double_blocks.0.img_attn.qkv.scale_weight"], "scale of double_blocks.0.img_attn.qkv.weight");
  EXPECT_EQ(uses["double_blocks.0.img_attn.qkv.scale_input"],
            "not used: scale of the inputs of double_blocks.0.img_attn.qkv.weight");
  EXPECT_EQ(uses["scaled_fp8"], "not used: a marker, not a weight");
  EXPECT_EQ(report.lines.size(), 1 + manifest.tensors.size());
}

// What inspect says of each kind of file that is no model by itself.
TEST(InspectDetails, EveryKindOfFileIsNamed) {
  for (const auto& [name, role] : {std::pair{"lokr-flux1-bfl", "lora"},
                                   {"dora-flux1-onetrainer", "lora"},
                                   {"loha-sd15-kohya-sample-names", "lora"},
                                   {"textual-inversion-sample", "embedding"},
                                   {"controlnet-sd15-ldm", "controlnet"},
                                   {"controlnet-sdxl-union-promax", "controlnet"},
                                   {"ipadapter-sd15", "ip_adapter"},
                                   {"animatediff-sd15-v2", "motion_module"},
                                   {"realesrgan-x4-rrdb23", "upscaler"},
                                   {"photomaker-v2-sample-names", "id_encoder"}}) {
    const Manifest manifest = load_manifest(name);
    const RecognisedFile file = recognised_manifest(manifest);
    const ModelReport report = describe(std::span(&file, 1));
    const Json& components = report.json["files"][0]["components"];
    EXPECT_TRUE(std::ranges::any_of(components, [wanted = role](const Json& c) { return c["role"] == wanted; }))
        << name << " " << components.dump();
    EXPECT_EQ(report.json["files"][0]["unknown_count"], 0) << name;
  }
}

}  // namespace
}  // namespace gesso
