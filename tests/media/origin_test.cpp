#include "media/origin.h"

#include <gtest/gtest.h>

#include <random>

#include "media/codec.h"
#include "media/exif.h"
#include "test_pictures.h"

namespace gesso {
namespace {

using namespace std::string_literals;
using testing::big_endian;
using testing::png_chunk;
using Fields = std::vector<std::pair<std::string, std::string>>;

std::string png(const std::vector<std::pair<std::string, std::string>>& texts) {
  std::string chunks;
  for (const auto& [key, text] : texts) chunks += png_chunk("tEXt", key + "\0"s + text);
  return testing::RawPng{1, 1, 8, 0, "\0\x07"s, chunks}.bytes();
}

// A graph as ComfyUI's default workflow saves it, with a text that comes from another node and a NaN, as caches leave.
constexpr const char* kGraph = R"({
  "3": {"class_type": "KSampler", "inputs": {"seed": 156680208700286, "steps": 20, "cfg": 8.0, "sampler_name": "euler",
        "scheduler": "normal", "denoise": 1.0, "model": ["10", 0], "positive": ["11", 0], "negative": ["7", 0],
        "latent_image": ["5", 0]}, "is_changed": [NaN]},
  "4": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "v1-5.safetensors"}},
  "5": {"class_type": "EmptyLatentImage", "inputs": {"width": 512, "height": 768, "batch_size": 1}},
  "6": {"class_type": "CLIPTextEncode", "inputs": {"text": ["12", 0], "clip": ["4", 1]}},
  "7": {"class_type": "CLIPTextEncode", "inputs": {"text": "text, NaN \"x\"", "clip": ["4", 1]}},
  "10": {"class_type": "LoraLoader", "inputs": {"model": ["4", 0], "clip": ["4", 1], "lora_name": "x"}},
  "11": {"class_type": "ControlNetApply", "inputs": {"conditioning": ["6", 0], "strength": 1.0}},
  "12": {"class_type": "PrimitiveString", "inputs": {"value": "a glass bottle"}}})";

TEST(Origin, ComfyUi) {
  const PictureOrigin origin = picture_origin(png({{"prompt", kGraph}, {"workflow", "{}"}}));
  EXPECT_EQ(origin.program, "ComfyUI");
  EXPECT_EQ(origin.parameters.prompt, "a glass bottle");
  EXPECT_EQ(origin.parameters.negative, "text, NaN \"x\"");
  EXPECT_EQ(origin.parameters.fields, (Fields{{"Steps", "20"},
                                              {"Sampler", "euler"},
                                              {"Schedule type", "normal"},
                                              {"CFG scale", "8"},
                                              {"Seed", "156680208700286"},
                                              {"Size", "512x768"},
                                              {"Model", "v1-5.safetensors"}}));
  EXPECT_EQ(origin.texts.size(), 2u);
  EXPECT_EQ(picture_origin(png({{"workflow", "{}"}})).program, "ComfyUI");
}

TEST(Origin, ComfyUisCustomSampler) {
  const PictureOrigin origin = picture_origin(png({{"prompt", R"({
    "5": {"class_type": "EmptySD3LatentImage", "inputs": {"width": 1024, "height": 1024}},
    "13": {"class_type": "SamplerCustomAdvanced", "inputs": {"noise": ["25", 0], "guider": ["22", 0], "sampler": ["16", 0],
           "sigmas": ["17", 0], "latent_image": ["5", 0]}},
    "16": {"class_type": "KSamplerSelect", "inputs": {"sampler_name": "dpmpp_2m"}},
    "17": {"class_type": "BasicScheduler", "inputs": {"scheduler": "simple", "steps": 4, "denoise": 0.5, "model": ["12", 0]}},
    "12": {"class_type": "UNETLoader", "inputs": {"unet_name": "flux1-dev.safetensors"}},
    "22": {"class_type": "BasicGuider", "inputs": {"model": ["12", 0], "conditioning": ["6", 0]}},
    "6": {"class_type": "CLIPTextEncode", "inputs": {"text": "a fox", "clip": ["11", 0]}},
    "25": {"class_type": "RandomNoise", "inputs": {"noise_seed": 7}}})"}}));
  EXPECT_EQ(origin.parameters.prompt, "a fox");
  EXPECT_EQ(origin.parameters.negative, "");
  EXPECT_EQ(origin.parameters.fields, (Fields{{"Steps", "4"},
                                              {"Sampler", "dpmpp_2m"},
                                              {"Schedule type", "simple"},
                                              {"Seed", "7"},
                                              {"Size", "1024x1024"},
                                              {"Model", "flux1-dev.safetensors"},
                                              {"Denoising strength", "0.5"}}));
}

TEST(Origin, InvokeAi) {
  const PictureOrigin origin = picture_origin(png({{"invokeai_metadata", R"({"generation_mode": "txt2img",
    "positive_prompt": "a fox", "negative_prompt": "blurry", "width": 512, "height": 640, "seed": 5, "cfg_scale": 7.5,
    "steps": 30, "scheduler": "euler", "model": {"name": "dreamshaper", "base": "sd-1"}})"}}));
  EXPECT_EQ(origin.program, "InvokeAI");
  EXPECT_EQ(origin.parameters.prompt, "a fox");
  EXPECT_EQ(origin.parameters.negative, "blurry");
  EXPECT_EQ(origin.parameters.fields, (Fields{{"Steps", "30"},
                                              {"Sampler", "euler"},
                                              {"CFG scale", "7.5"},
                                              {"Seed", "5"},
                                              {"Size", "512x640"},
                                              {"Model", "dreamshaper"}}));
  const PictureOrigin old =
      picture_origin(png({{"sd-metadata", R"({"model": "stable diffusion", "model_weights": "sd-1.5",
    "image": {"prompt": [{"prompt": "a fox ", "weight": 1}, {"prompt": "at night", "weight": 0.5}], "steps": 50,
    "cfg_scale": 7.5, "seed": 3, "sampler": "k_lms", "width": 512, "height": 512}})"}}));
  EXPECT_EQ(old.program, "InvokeAI");
  EXPECT_EQ(old.parameters.prompt, "a fox at night");
  EXPECT_EQ(old.parameters.fields.back(), (std::pair<std::string, std::string>("Model", "sd-1.5")));
  const PictureOrigin dream =
      picture_origin(png({{"Dream", R"("a "red" fox" -s 50 -S 42 -W 512 -H 768 -C 7.5 -A k_lms)"}}));
  EXPECT_EQ(dream.parameters.prompt, "a \"red\" fox");
  EXPECT_EQ(dream.parameters.fields,
            (Fields{{"Steps", "50"}, {"Sampler", "k_lms"}, {"CFG scale", "7.5"}, {"Seed", "42"}, {"Size", "512x768"}}));
}

TEST(Origin, NovelAi) {
  const PictureOrigin origin =
      picture_origin(png({{"Title", "AI generated image"},
                          {"Description", "a fox, {{night}}"},
                          {"Software", "NovelAI"},
                          {"Source", "Stable Diffusion 1D44365E"},
                          {"Comment", R"({"steps": 28, "sampler": "k_euler", "seed": 9, "strength": 0.7,
                                                    "scale": 11.0, "uc": "lowres", "noise": 0.2})"}}));
  EXPECT_EQ(origin.program, "NovelAI");
  EXPECT_EQ(origin.parameters.prompt, "a fox, {{night}}");
  EXPECT_EQ(origin.parameters.negative, "lowres");
  EXPECT_EQ(origin.parameters.fields, (Fields{{"Steps", "28"},
                                              {"Sampler", "k_euler"},
                                              {"CFG scale", "11"},
                                              {"Seed", "9"},
                                              {"Model", "Stable Diffusion 1D44365E"},
                                              {"Denoising strength", "0.7"}}));
}

TEST(Origin, OursAndA1111sInEveryFormat) {
  const Image image{2, 2, 3, std::vector<uint8_t>(12, 7)};
  const PictureInfo info{"a cat\nNegative prompt: dog\nSteps: 20, Sampler: Euler, Seed: 1", R"({"prompt":"a cat"})"};
  for (const PictureFormat format : {PictureFormat::kPng, PictureFormat::kJpeg, PictureFormat::kWebp}) {
    const PictureOrigin ours = picture_origin(encode_image(image, format, {}, info));
    EXPECT_EQ(ours.program, "Gesso") << to_string(format);
    EXPECT_EQ(ours.parameters.prompt, "a cat");
    EXPECT_EQ(ours.parameters.negative, "dog");
    EXPECT_EQ(ours.texts.size(), 2u);
    const PictureOrigin theirs = picture_origin(encode_image(image, format, {}, {info.parameters, ""}));
    EXPECT_EQ(theirs.program, "A1111") << to_string(format);
    EXPECT_EQ(theirs.parameters.fields.size(), 3u);
    EXPECT_EQ(picture_origin(encode_image(image, format)).program, "");
  }
  EXPECT_EQ(picture_origin("text").program, "");
}

TEST(Origin, ComfyUisGraphInExif) {  // as its WebP writer puts it into Make and Model
  const std::string text = "Prompt:"s + kGraph;
  const std::string tiff = "MM\0*"s + big_endian(8, 4) + big_endian(1, 2) + big_endian(0x0110, 2) + big_endian(2, 2) +
                           big_endian(static_cast<uint32_t>(text.size() + 1), 4) + big_endian(26, 4) +
                           big_endian(0, 4) + text + "\0"s;
  EXPECT_EQ(exif_texts(tiff), (Fields{{"Model", text}}));
  const std::string picture = testing::RawPng{1, 1, 8, 0, "\0\x07"s, png_chunk("eXIf", tiff)}.bytes();
  EXPECT_EQ(picture_origin(picture).program, "ComfyUI");
  EXPECT_EQ(picture_origin(picture).parameters.prompt, "a glass bottle");
  for (size_t size = 0; size < tiff.size(); size += 3) exif_texts(tiff.substr(0, size));
}

TEST(Origin, HostileTextIsAbsentNotFatal) {
  const std::string deep(200'000, '['), objects = [] {
    std::string text;
    for (int i = 0; i < 50'000; ++i) text += "{\"a\":";
    return text;
  }();
  for (const std::string& text :
       {deep, deep + std::string(200'000, ']'), objects, "NaN"s, "[]"s, "null"s, "\"x\""s, "{\"3\":5}"s, "\xff"s,
        R"({"3":{"class_type":5,"inputs":{"latent_image":["3",0]}}})"s,
        R"({"3":{"class_type":"KSampler","inputs":{"latent_image":["3",0],"positive":["3",0],"steps":[1]}}})"s,
        R"({"3":{"class_type":"KSampler","inputs":[]}})"s, R"({"image":{"prompt":[1,2]},"width":{}})"s})
    for (const char* key : {"prompt", "workflow", "invokeai_metadata", "sd-metadata", "Dream", "Comment", "parameters"})
      picture_origin(png({{"Software", "NovelAI"}, {key, text}}));
  EXPECT_EQ(picture_origin(png(std::vector<std::pair<std::string, std::string>>(5000, {"a", "b"}))).texts.size(), 200u);
  // a small file of much text: 300 chunks of 15 MB each
  const std::string bomb = png_chunk("zTXt", "a\0\0"s + testing::deflated(std::string(15'000'000, 'x')));
  std::string bombs;
  for (int i = 0; i < 300; ++i) bombs += bomb;
  size_t total = 0;
  for (const PictureText& text : picture_origin(testing::RawPng{1, 1, 8, 0, "\0\x07"s, bombs}.bytes()).texts)
    total += text.text.size();
  EXPECT_LE(total, size_t{32} << 20);
  std::mt19937 random(3);
  const std::string whole = png({{"prompt", kGraph}, {"Software", "NovelAI"}});
  for (int round = 0; round < 2000; ++round) {
    std::string bad = whole;
    for (int i = 0; i < 4; ++i) bad[random() % bad.size()] = static_cast<char>(random());
    picture_origin(bad);
    std::string graph = kGraph;
    for (int i = 0; i < 4; ++i) graph[random() % graph.size()] = static_cast<char>(32 + random() % 95);
    picture_origin(png({{"prompt", graph}}));
  }
}

}  // namespace
}  // namespace gesso
