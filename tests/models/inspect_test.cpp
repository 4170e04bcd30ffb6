#include "models/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/manifest.h"

namespace gesso {
namespace {

using testing::Contains;
using ::testing::HasSubstr;
using testing::Not;

struct Loaded {
  explicit Loaded(std::string_view name, std::string path) : manifest(load_manifest(name)) {
    file = {std::move(path), "safetensors", manifest.tensors, recognise(manifest.tensors, manifest.metadata)};
  }
  Manifest manifest;
  RecognisedFile file;
};

TEST(Describe, AWholeCheckpoint) {
  const Loaded loaded("sd15-ldm", "/models/a b.safetensors");
  const ModelReport report = describe(std::span(&loaded.file, 1));
  EXPECT_EQ(report.lines.front(), "/models/a b.safetensors: Stable Diffusion 1.x (diffusion model)");
  EXPECT_THAT(report.lines, Contains("  CLIP-L text encoder: CLIP (123.1 M parameters in 196 tensors, F32; HF names "
                                     "under cond_stage_model.transformer.)"));
  EXPECT_EQ(report.lines.back(), "run it: gesso generate -m '/models/a b.safetensors' -p \"...\"");
  EXPECT_EQ(report.json["runnable"], true);
  EXPECT_EQ(report.json["files"][0]["components"][0]["family"], "sd1");
  EXPECT_EQ(report.json["files"][0]["components"][0]["parameters"], 859520964);
  EXPECT_EQ(report.json["files"][0]["unknown_count"], 0);
  EXPECT_TRUE(report.json["missing_components"].empty());
}

TEST(Describe, WhatIsMissingBecomesOptions) {
  const Loaded unet("sdxl-unet-diffusers", "unet.safetensors"), vae("sdxl-vae-diffusers", "vae.safetensors");
  const std::vector<RecognisedFile> files{unet.file, vae.file};
  const ModelReport report = describe(files);
  EXPECT_THAT(report.lines, Contains("missing: OpenCLIP-G text encoder"));
  EXPECT_EQ(report.lines.back(),
            "run it: gesso generate --diffusion-model unet.safetensors --vae vae.safetensors --clip_l FILE --clip_g "
            "FILE -p \"...\"");
  EXPECT_EQ(report.json["runnable"], false);
  EXPECT_EQ(report.json["missing_components"], (nlohmann::ordered_json{"clip_l", "clip_g"}));
}

TEST(Describe, APartThatIsOptionalIsUsedWhenItIsThere) {
  const Loaded model("sd3-medium-incl-clips", "sd3.safetensors"), t5("t5xxl-encoder-hf", "t5.safetensors");
  const ModelReport without = describe(std::span(&model.file, 1));
  EXPECT_EQ(without.lines.back(), "run it: gesso generate -m sd3.safetensors -p \"...\"");
  const RecognisedFile both[] = {model.file, t5.file};
  EXPECT_EQ(describe(both).lines.back(), "run it: gesso generate -m sd3.safetensors --t5xxl t5.safetensors -p \"...\"");
}

TEST(Describe, ATinyAutoencoderTakesTheOtherOnesPlace) {
  const Loaded unet("sd15-unet-ldm-prefixed", "unet.safetensors"), clip("clip-l-hf", "clip.safetensors");
  const Loaded tiny("taesd-decoder", "taesd.pth"), other("taef2-decoder", "taef2.pth");
  const std::vector<RecognisedFile> files{unet.file, clip.file, tiny.file};
  const ModelReport report = describe(files);
  EXPECT_EQ(report.lines.back(),
            "run it: gesso generate --diffusion-model unet.safetensors --clip_l clip.safetensors --taesd taesd.pth -p "
            "\"...\"");
  EXPECT_EQ(report.json["runnable"], true);
  const std::vector<RecognisedFile> unknown{unet.file, clip.file, other.file};
  EXPECT_EQ(describe(unknown).json["runnable"], false);
}

TEST(Describe, AFamilyThatIsNotBuiltHasNoCommand) {
  const Loaded loaded("flux2-dev-bfl", "flux.safetensors");
  const ModelReport report = describe(std::span(&loaded.file, 1));
  EXPECT_EQ(report.lines.front(), "flux.safetensors: FLUX.2, dev (diffusion model)");
  EXPECT_THAT(report.lines[1], HasSubstr("not supported yet"));
  EXPECT_FALSE(report.json.contains("command"));
}

TEST(Describe, AnUpscalerHasItsOwnCommand) {
  const Loaded loaded("realesrgan-x4-rrdb23", "/models/x 4.safetensors");
  const ModelReport report = describe(std::span(&loaded.file, 1));
  EXPECT_EQ(report.lines.front(), "/models/x 4.safetensors: ESRGAN, x4 (upscaler)");
  EXPECT_EQ(report.lines.back(), "run it: gesso upscale in.png --upscale-model '/models/x 4.safetensors' -o out.png");
  EXPECT_EQ(report.json["runnable"], true);
  Manifest manifest = load_manifest("realesrgan-x4-rrdb23");
  std::erase_if(manifest.tensors, [](const TensorInfo& t) { return t.name == "conv_up2.bias"; });
  const RecognisedFile file{"m", "safetensors", manifest.tensors, recognise(manifest.tensors, {})};
  const ModelReport incomplete = describe(std::span(&file, 1));
  EXPECT_EQ(incomplete.json["runnable"], false);
  EXPECT_THAT(incomplete.lines, Contains("    missing: conv_up2.bias"));
  EXPECT_FALSE(incomplete.json.contains("command"));
}

TEST(Describe, NamesCannotBreakTheTerminalOrTheJson) {
  const std::vector<TensorInfo> tensors{{"bad\x1b[31m\xff name", DType::kF32, {1}, 0, 0}};
  const RecognisedFile file{"-x", "gguf", tensors, recognise(tensors, {})};
  const ModelReport report = describe(std::span(&file, 1));
  EXPECT_EQ(report.lines.back(), "  unknown: 1 tensor: bad?[31m? name");
  EXPECT_NO_THROW(report.json.dump());
  EXPECT_THAT(report.lines.front(), HasSubstr("no model that this version knows"));
}

TEST(Describe, AnIncompleteModelIsNotRun) {
  Manifest manifest = load_manifest("sd15-ldm");
  std::erase_if(manifest.tensors, [](const TensorInfo& t) { return t.name == "model.diffusion_model.out.2.weight"; });
  const RecognisedFile file{"m", "safetensors", manifest.tensors, recognise(manifest.tensors, {})};
  const ModelReport report = describe(std::span(&file, 1));
  EXPECT_THAT(report.lines, Contains("    missing: out.2.weight"));
  EXPECT_THAT(report.lines, Not(Contains(HasSubstr("run it"))));
}

TEST(ShellWord, IsQuotedWhereItHasToBe) {
  EXPECT_EQ(shell_word("a/b-1.safetensors"), "a/b-1.safetensors");
  EXPECT_EQ(shell_word("it's $x"), "'it'\\''s $x'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("-m"), "./-m");
}

}  // namespace
}  // namespace gesso
