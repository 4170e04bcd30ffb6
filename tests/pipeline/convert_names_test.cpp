// Files under the names of other layouts: nothing is lost on the way there and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "io/safetensors_writer.h"
#include "models/recognise.h"
#include "pipeline/convert.h"
#include "pipeline/engine.h"
#include "pipeline/request.h"
#include "temp_folder.h"

namespace gesso {
namespace {

struct ConvertNames : ::testing::TestWithParam<const char*> {
  testing::TempFolder folder;

  std::string source() const {
    return GetParam() == std::string("demo") ? GESSO_SOURCE_DIR "/models/demo/gesso-demo.safetensors"
                                             : std::string(GESSO_TEST_DATA "/golden/") + GetParam() + ".safetensors";
  }
  std::string renamed(const std::string& from, const char* names, const std::string& name) {
    const std::string to = (folder / name).string();
    const Json request{{"inputs", {from}}, {"output", to}, {"names", names}};
    (void)convert_files(parse_convert_request(request.dump()), [](const Event&) {}, {});
    return to;
  }
  /// Each tensor of a file that a component holds, by its name.
  static std::map<std::string, std::pair<TensorInfo, std::vector<std::byte>>> content(const std::string& path) {
    const auto file = open_tensor_file(path);
    const Recognition found = recognise(file->tensors(), file->metadata());
    std::map<std::string, std::pair<TensorInfo, std::vector<std::byte>>> result;
    for (const Component& component : found.components)
      for (const PlacedTensor& placed : component.tensors) {
        const TensorInfo& info = file->tensors()[placed.tensor_index];
        const auto bytes = file->read(info);
        result[info.name] = {info, {bytes.begin(), bytes.end()}};
      }
    return result;
  }
  std::vector<uint8_t> paint(const std::string& model) {
    Request r;
    r.model = model;
    r.prompt = "a red house";
    r.steps = 2;
    if (GetParam() == std::string("tiny_sd3") || GetParam() == std::string("tiny_flux1")) {
      r.clip_l = GESSO_TEST_DATA "/golden/tiny_sdxl.safetensors";
      r.clip_g = GESSO_TEST_DATA "/golden/tiny_sdxl.safetensors";
      if (GetParam() == std::string("tiny_sd3")) r.t5xxl = GESSO_TEST_DATA "/golden/tiny_flux1.safetensors";
    }
    r.width = r.height = 64;
    r.seed = 3;
    return make_engine({})->generate(r, [](const Event&) {}, {}).pictures.front().pixels;
  }
};

TEST_P(ConvertNames, ThereAndBackIsTheSameWeights) {
  const std::string there = renamed(source(), "diffusers", "there.safetensors");
  for (const auto& [name, tensor] : content(there))
    EXPECT_TRUE(name.starts_with("unet.") || name.starts_with("transformer.") || name.starts_with("vae.") ||
                name.starts_with("text_encoder"))
        << name;
  const std::string back = renamed(there, "ldm", "back.safetensors");
  const bool mixed = GetParam() == std::string("tiny_flux1");  // its transformer is in diffusers' names to begin with
  const auto first = content(mixed ? there : source());
  const auto last = content(mixed ? renamed(back, "diffusers", "again.safetensors") : back);
  ASSERT_EQ(first.size(), last.size());
  for (const auto& [name, tensor] : first) {
    const auto found = last.find(name);
    ASSERT_NE(found, last.end()) << name;
    EXPECT_EQ(found->second.first.dtype, tensor.first.dtype) << name;
    EXPECT_EQ(to_string(found->second.first.shape), to_string(tensor.first.shape)) << name;
    EXPECT_EQ(found->second.second, tensor.second) << name;
  }
}

TEST_P(ConvertNames, EitherLayoutPaintsTheSamePicture) {
  const auto expected = paint(source());
  const std::string there = renamed(source(), "diffusers", "there.gguf");
  EXPECT_EQ(paint(there), expected);
  EXPECT_EQ(paint(renamed(there, "ldm", "back.gguf")), expected);
}

INSTANTIATE_TEST_SUITE_P(Models, ConvertNames,
                         ::testing::Values("demo", "tiny_sd1", "tiny_sdxl", "tiny_sd3", "tiny_flux1"));

using ConvertToNames = ConvertNames;
INSTANTIATE_TEST_SUITE_P(Folder, ConvertToNames, ::testing::Values("demo"));

TEST_P(ConvertToNames, ADiffusersFolderBecomesACheckpoint) {
  const std::string folder_model = GESSO_TEST_DATA "/diffusers_tiny";
  const std::string one = renamed(folder_model, "ldm", "one.safetensors");
  EXPECT_EQ(paint(one), paint(folder_model));
  EXPECT_TRUE(content(one).contains("model.diffusion_model.input_blocks.0.0.weight"));
}

/// A copy of a file without the tensors whose names hold `part`.
std::string without(const std::string& from, const std::string& part, const std::filesystem::path& to) {
  const auto file = open_tensor_file(from);
  std::vector<TensorInfo> kept;
  for (const TensorInfo& t : file->tensors())
    if (t.name.find(part) == std::string::npos) kept.push_back(t);
  SafetensorsWriter writer(to, kept, file->metadata());
  for (const TensorInfo& t : kept) writer.write(file->read(t));
  writer.finish();
  return to.string();
}

// S20: that separate and fused projections paint the same is EitherLayoutPaintsTheSamePicture; here one of the three is
// not there.
TEST_P(ConvertToNames, AMissingPartOfAFusedProjectionIsAnError) {
  const std::string separate = renamed(GESSO_TEST_DATA "/golden/tiny_flux1.safetensors", "diffusers", "d.safetensors");
  const std::string model = without(separate, "transformer_blocks.0.attn.to_v.", folder / "cut.safetensors");
  Request request;
  request.model = model;
  request.clip_l = GESSO_TEST_DATA "/golden/tiny_sdxl.safetensors";
  request.prompt = "a";
  for (const bool paints : {true, false}) try {
      if (paints)
        (void)make_engine({})->generate(request, [](const Event&) {}, {});
      else
        (void)renamed(model, "ldm", "fused.safetensors");
      ADD_FAILURE() << paints;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr(".v.weight"));
    }
}

// G10: a diffusion model alone, given as the whole model.
TEST_P(ConvertToNames, ADiffusionModelAloneAsksForTheRest) {
  const std::string unet = without(without(source(), "first_stage_model.", folder / "a.safetensors"),
                                   "cond_stage_model.", folder / "unet.safetensors");
  const std::string gguf = (folder / "unet.gguf").string();
  const Json convert{{"inputs", {unet}}, {"output", gguf}, {"type", "q8_0"}};
  (void)convert_files(parse_convert_request(convert.dump()), [](const Event&) {}, {});
  Request request;
  request.model = gguf;
  request.prompt = "a";
  try {
    (void)make_engine({})->generate(request, [](const Event&) {}, {});
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kNotFound);
    EXPECT_THAT(e.what(), ::testing::HasSubstr("CLIP-L text encoder (--clip_l FILE)"));
    EXPECT_THAT(e.what(), ::testing::HasSubstr("--vae FILE"));
  }
  request.vae = request.clip_l = source();  // which hold more than that
  request.steps = 1;
  EXPECT_EQ(make_engine({})->generate(request, [](const Event&) {}, {}).pictures.size(), 1u);
}

TEST_P(ConvertToNames, WhatHasNoPlaceIsRefusedOrNoted) {
  const auto refused = [&](const std::vector<std::string>& inputs, ErrorCode code, const std::string& message) {
    const Json request{{"inputs", inputs}, {"output", (folder / "o.safetensors").string()}, {"names", "diffusers"}};
    try {
      (void)convert_files(parse_convert_request(request.dump()), [](const Event&) {}, {});
      ADD_FAILURE() << message;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      EXPECT_THAT(e.what(), ::testing::HasSubstr(message));
    }
  };
  refused({source(), source()}, ErrorCode::kUsage, "two components that are a");
  SafetensorsWriter writer(folder / "strange.safetensors", {{"w", DType::kF32, Shape{1}}});
  writer.write(std::as_bytes(std::span("abc")));
  writer.finish();
  refused({(folder / "strange.safetensors").string()}, ErrorCode::kUnsupported, "nothing that this version knows");
  EXPECT_THROW((void)parse_convert_request(R"({"inputs": ["a"], "output": "a.gguf", "names": "comfy"})"), Error);
}

}  // namespace
}  // namespace gesso
