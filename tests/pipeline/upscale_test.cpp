#include "pipeline/upscale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

#include "base/files.h"
#include "base/threads.h"
#include "device/cpu/cpu_device.h"
#include "io/safetensors_writer.h"
#include "media/codec.h"
#include "media/parameters.h"
#include "media/resize.h"
#include "pipeline/transparency.h"
#include "support/golden.h"
#include "temp_folder.h"

namespace gesso {
namespace {

using testing::put;
using testing::TempFolder;

constexpr int64_t kPlenty = int64_t{8} << 30;
const EventSink kQuiet = [](const Event&) {};

std::filesystem::path upscale_golden(const std::string& name) {
  return std::string(GESSO_TEST_DATA "/golden/") + name;
}

/// Waves, noise and a few hard edges.
Image scenery(int width, int height, int channels = 3) {
  std::mt19937 random(1);
  Image image{width, height, channels, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c) {
        const double wave = 128 + 70 * std::sin(x / 9.0 + c) + 40 * std::cos(y / 5.0 - c);
        const int block = (x / 17 + y / 13) % 5 == 0 ? 60 : 0;
        image.pixels.push_back(
            static_cast<uint8_t>(std::clamp(wave + block + static_cast<int>(random() % 9), 0., 255.)));
      }
  return image;
}

std::filesystem::path stored(const std::filesystem::path& path, const Image& image, const PictureInfo& info = {}) {
  return put(path, encode_image(image, PictureFormat::kPng, {}, info));
}

int largest_difference(const Image& a, const Image& b) {
  EXPECT_EQ(a.pixels.size(), b.pixels.size());
  int most = 0;
  for (size_t i = 0; i < std::min(a.pixels.size(), b.pixels.size()); ++i)
    most = std::max(most, std::abs(a.pixels[i] - b.pixels[i]));
  return most;
}

struct Upscaling : ::testing::Test {
  CpuDevice cpu;
  TempFolder folder;

  std::vector<Picture> run(const Json& json, const EventSink& sink = kQuiet, const CancelToken& cancel = {}) {
    const UpscaleRequest request = parse_upscale_request(to_text(json));
    return upscale_pictures(request, cpu, DType::kF32, kPlenty, sink, cancel);
  }
};

TEST_F(Upscaling, EqualsTheReferenceToTheByte) {
  for (const char* name : {"upscale_x4", "upscale_old", "upscale_x1", "upscale_x2", "upscale_compact"}) {
    const Golden golden(name);
    const Upscaler upscaler(
        upscale_golden(std::string(name) + (name == std::string("upscale_x2") ? ".pth" : ".safetensors")));
    // The case's input has more than 8 bits; what both make of the rounded one is what counts, so compare loosely here
    // (the networks themselves are held to 1e-4 in tests/models): rounding the input by half a step.
    const Tensor x = to_channels_last(golden.tensor(cpu, "case.x")), y = to_channels_last(golden.tensor(cpu, "case.y"));
    const auto bytes = [](const Tensor& t) {
      Image image{static_cast<int>(t.dim(2)), static_cast<int>(t.dim(1)), 3, {}};
      for (const float v : to_values(t))
        image.pixels.push_back(static_cast<uint8_t>(std::lround(std::clamp(v, 0.f, 1.f) * 255)));
      return image;
    };
    const Image result = upscaler.upscale(cpu, bytes(x), {.budget = kPlenty}, kQuiet);
    EXPECT_EQ(result.width, y.dim(2));
    EXPECT_LE(largest_difference(result, bytes(y)), 2) << name;
  }
}

TEST_F(Upscaling, TilesShowNowhere) {
  const Image image = scenery(211, 150);
  // The small network sees 4 pixels far: its tiles are the whole. Of the others the outer 24 pixels of a tile do not
  // count, where what they lack has faded.
  for (const char* name : {"upscale_compact.safetensors", "upscale_x4.safetensors", "upscale_old.safetensors",
                           "upscale_x2.pth", "upscale_x1.safetensors"}) {
    const Upscaler upscaler(upscale_golden(name));
    std::vector<std::string> messages;
    const EventSink sink = [&](const Event& e) {
      if (e.kind == Event::Kind::kMessage) messages.push_back(e.text);
    };
    const Image whole = upscaler.upscale(cpu, image, {.budget = kPlenty, .tile = 512}, sink);
    const Image tiled = upscaler.upscale(cpu, image, {.budget = kPlenty, .tile = 128}, sink);
    EXPECT_EQ(whole.width, 211 * upscaler.scale());
    EXPECT_EQ(whole.height, 150 * upscaler.scale());
    EXPECT_LE(largest_difference(whole, tiled), 1) << name;
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_THAT(messages[0], ::testing::HasSubstr("1 tile "));
    EXPECT_THAT(messages[1], ::testing::ContainsRegex("in [4-9] tiles"));
  }
}

TEST_F(Upscaling, SameBytesForAnyNumberOfThreads) {
  const Image image = scenery(70, 61);
  for (const char* name : {"upscale_x4.safetensors", "upscale_compact.safetensors"}) {
    const Upscaler upscaler(upscale_golden(name));
    std::vector<std::vector<uint8_t>> results;
    for (const int threads : {1, 2, 3}) {
      set_thread_count(threads);
      results.push_back(upscaler.upscale(cpu, image, {.budget = kPlenty}, kQuiet).pixels);
      set_thread_count(0);
    }
    EXPECT_EQ(results[0], results[1]) << name;
    EXPECT_EQ(results[0], results[2]) << name;
  }
}

TEST_F(Upscaling, GrayStaysGrayAndAlphaIsKept) {
  const Upscaler upscaler(upscale_golden("upscale_x4.safetensors"));
  const Image gray = upscaler.upscale(cpu, scenery(9, 7, 1), {.budget = kPlenty}, kQuiet);
  EXPECT_EQ(gray.channels, 1);
  EXPECT_EQ(gray.width, 36);
  const Image rgba = scenery(19, 17, 4);
  const Image large = upscaler.upscale(cpu, rgba, {.budget = kPlenty}, kQuiet);
  ASSERT_EQ(large.channels, 4);
  EXPECT_EQ(alpha_of(large).pixels, resized(alpha_of(rgba), 76, 68).pixels);
  Image opaque = rgba;
  for (size_t i = 3; i < opaque.pixels.size(); i += 4) opaque.pixels[i] = 255;
  const Image colours = upscaler.upscale(cpu, visible_colours(opaque), {.budget = kPlenty}, kQuiet);
  const Image of_opaque = upscaler.upscale(cpu, opaque, {.budget = kPlenty}, kQuiet);
  EXPECT_EQ(visible_colours(of_opaque).pixels, colours.pixels);
}

TEST(VisibleColours, SpreadIntoWhatIsTransparent) {
  Image image{40, 1, 4, std::vector<uint8_t>(160)};
  for (size_t k = 0; k < 4; ++k) image.pixels[k] = 200, image.pixels[4 + k] = 100;  // two pixels can be seen
  image.pixels[7] = 1;
  const Image rgb = visible_colours(image);
  EXPECT_EQ(rgb.pixels[0], 200);
  EXPECT_EQ(rgb.pixels[3], 100);
  EXPECT_EQ(rgb.pixels[3 * 2], 100);
  EXPECT_EQ(rgb.pixels[3 * 17], 100) << "16 rings";
  EXPECT_EQ(rgb.pixels[3 * 18], 0);
  const Image clear{5, 4, 4, std::vector<uint8_t>(80)};
  EXPECT_EQ(visible_colours(clear).pixels, std::vector<uint8_t>(60));
}

TEST_F(Upscaling, ReachesAnyScale) {
  const std::string in = stored(folder / "in.png", scenery(30, 20)).string();
  const std::string x4 = upscale_golden("upscale_x4.safetensors").string(),
                    x2 = upscale_golden("upscale_x2.pth").string(),
                    x1 = upscale_golden("upscale_x1.safetensors").string();
  const auto size = [&](const Json& more) {
    Json json = {{"inputs", {in}}, {"model", x4}};
    json.update(more);
    const Picture picture = run(json).front();
    return std::pair(picture.width, picture.height);
  };
  EXPECT_EQ(size(Json::object()), std::pair(120, 80));
  EXPECT_EQ(size({{"scale", 2}}), std::pair(60, 40));
  EXPECT_EQ(size({{"scale", 0.5}}), std::pair(15, 10));
  EXPECT_EQ(size({{"scale", 6.5}}), std::pair(195, 130));
  EXPECT_EQ(size({{"model", x2}, {"repeats", 2}}), std::pair(120, 80));
  EXPECT_EQ(size({{"model", x1}}), std::pair(30, 20));
  EXPECT_EQ(size({{"model", x1}, {"scale", 2}}), std::pair(60, 40));
  EXPECT_EQ(size({{"width", 66}}), std::pair(66, 44));
  EXPECT_EQ(size({{"width", 60}, {"height", 60}}), std::pair(90, 60));
  EXPECT_EQ(size({{"width", 60}, {"height", 60}, {"crop", true}}), std::pair(60, 60));
}

TEST_F(Upscaling, RepeatsAreRunsOnItsOwnResult) {
  const Image image = scenery(30, 20);
  const std::string in = stored(folder / "in.png", image).string(), x2 = upscale_golden("upscale_x2.pth").string();
  const Upscaler upscaler(x2);
  const Image once = upscaler.upscale(cpu, image, {.budget = kPlenty}, kQuiet);
  const Image twice = upscaler.upscale(cpu, once, {.budget = kPlenty}, kQuiet);
  EXPECT_EQ(run({{"inputs", {in}}, {"model", x2}, {"repeats", 2}}).front().pixels, twice.pixels);
  EXPECT_EQ(run({{"inputs", {in}}, {"model", x2}, {"scale", 4}}).front().pixels, twice.pixels)
      << "as often as it takes";
  EXPECT_EQ(run({{"inputs", {in}}, {"model", x2}, {"scale", 3}, {"repeats", 1}}).front().pixels,
            resized(once, 90, 60).pixels);
}

TEST_F(Upscaling, ASecondUpscalerIsLaidOver) {
  const Image image = scenery(12, 10);
  const std::string in = stored(folder / "in.png", image).string(),
                    x4 = upscale_golden("upscale_x4.safetensors").string();
  const Image network = Upscaler(x4).upscale(cpu, image, {.budget = kPlenty}, kQuiet),
              nearest = repeated(image, 48, 40);
  Json json = {{"inputs", {in}}, {"model", x4}, {"second_filter", "nearest"}, {"second_visibility", 0.25}};
  const Picture both = run(json).front();
  for (size_t i = 0; i < both.pixels.size(); ++i)
    ASSERT_EQ(both.pixels[i], std::lround(0.75 * network.pixels[i] + 0.25 * nearest.pixels[i]));
  EXPECT_THAT(both.parameters, ::testing::HasSubstr("Postprocess upscaler 2: Nearest"));
  EXPECT_EQ(run({{"inputs", {in}}, {"filter", "lanczos"}, {"scale", 3}}).front().pixels, resized(image, 36, 30).pixels);
  EXPECT_EQ(run({{"inputs", {in}}, {"filter", "nearest"}, {"scale", 4}}).front().pixels, nearest.pixels);
}

TEST_F(Upscaling, KeepsWhatThePictureSaysAndAddsWhatWasDone) {
  const std::string x4 = upscale_golden("upscale_x4.safetensors").string();
  const PictureInfo info{"a red house\nNegative prompt: blurry\nSteps: 20, Sampler: Euler, Seed: 5, Size: 9x8",
                         R"({"prompt":"a red house"})"};
  const std::string in = stored(folder / "in.png", scenery(9, 8), info).string();
  const std::string plain = stored(folder / "plain.png", scenery(9, 8)).string();
  const std::vector<Picture> pictures = run({{"inputs", {in, plain}}, {"model", x4}});
  ASSERT_EQ(pictures.size(), 2u);
  EXPECT_EQ(pictures[0].request_json, info.request_json);
  const Parameters said = parse_parameters(pictures[0].parameters);
  EXPECT_EQ(said.prompt, "a red house");
  EXPECT_EQ(said.negative, "blurry");
  const std::map<std::string, std::string> fields(said.fields.begin(), said.fields.end());
  EXPECT_EQ(fields.at("Seed"), "5");
  EXPECT_EQ(fields.at("Postprocess upscaler"), "upscale_x4");
  EXPECT_EQ(fields.at("Postprocess upscale by"), "4");
  const Parameters alone = parse_parameters(pictures[1].parameters);
  EXPECT_EQ(alone.fields.size(), 3u) << pictures[1].parameters;
  EXPECT_EQ(pictures[1].request_json, "");
  // once more: what was done last counts
  const std::string again = stored(folder / "again.png", scenery(5, 5), {pictures[0].parameters, ""}).string();
  const Parameters twice =
      parse_parameters(run({{"inputs", {again}}, {"model", x4}, {"width", 10}}).front().parameters);
  EXPECT_EQ(std::ranges::count(twice.fields, "Postprocess upscaler", [](const auto& f) { return f.first; }), 1);
  EXPECT_EQ(run({{"inputs", {in}}, {"model", x4}, {"metadata", false}}).front().parameters, "");
}

TEST_F(Upscaling, TellsEachTile) {
  const std::string in = stored(folder / "in.png", scenery(200, 100)).string();
  std::vector<Event> events;
  run({{"inputs", {in}},
       {"model", upscale_golden("upscale_compact.safetensors").string()},
       {"tile", 64},
       {"repeats", 2}},
      [&](const Event& e) {
        if (e.stage == "upscale") events.push_back(e);
      });
  ASSERT_GT(events.size(), 8u);
  EXPECT_EQ(events[0].kind, Event::Kind::kStage);
  EXPECT_EQ(events[0].steps, static_cast<int>(events.size()) - 1) << "both passes count";
  for (size_t i = 1; i < events.size(); ++i) {
    EXPECT_EQ(events[i].step, static_cast<int>(i));
    EXPECT_EQ(events[i].eta > 0, i + 1 < events.size());
  }
}

TEST_F(Upscaling, StopsWhenItIsCancelled) {
  const std::string in = stored(folder / "in.png", scenery(200, 100)).string();
  const Json json = {{"inputs", {in}}, {"model", upscale_golden("upscale_x4.safetensors").string()}, {"tile", 96}};
  const CancelToken cancel;
  int steps = 0;
  cpu.set_interrupt([&] { return cancel.cancelled(); });
  EXPECT_REFUSED(run(
                     json,
                     [&](const Event& e) {
                       if (e.kind == Event::Kind::kStep && ++steps == 2) cancel.cancel();
                     },
                     cancel),
                 ErrorCode::kCancelled, "cancelled");
  EXPECT_EQ(steps, 2);
}

TEST_F(Upscaling, TheBudgetDecidesTheTile) {
  const Upscaler upscaler(upscale_golden("upscale_x4.safetensors"));
  const UpscalePlan roomy = upscaler.plan(600, 600, {.budget = kPlenty});
  EXPECT_EQ(roomy.tile, 512);
  EXPECT_EQ(roomy.tiles, 4u);
  const UpscalePlan tight = upscaler.plan(600, 600, {.budget = roomy.peak / 3});
  EXPECT_LT(tight.tile, roomy.tile);
  EXPECT_LE(tight.peak, roomy.peak / 3);
  EXPECT_GT(tight.flops, roomy.flops) << "overlaps cost";
  EXPECT_REFUSED(upscaler.plan(600, 600, {.budget = 1 << 20}), ErrorCode::kOutOfMemory, "--memory");
  EXPECT_REFUSED(upscaler.plan(600, 600, {.budget = 1 << 20, .tile = 300}), ErrorCode::kOutOfMemory, "--tile");
  EXPECT_REFUSED(upscaler.plan(600, 600, {.budget = kPlenty, .tile = 64}), ErrorCode::kUsage, "at least 96");
  // What was planned is what is taken: the pool's blocks are rounded up to whole pages of 2 MiB.
  cpu.reset_peak();
  (void)upscaler.upscale(cpu, scenery(200, 200), {.budget = kPlenty, .tile = 128}, kQuiet);
  const UpscalePlan plan = upscaler.plan(200, 200, {.budget = kPlenty, .tile = 128});
  EXPECT_LT(cpu.peak_bytes(), plan.peak + (16 << 20));
}

/// The golden network in f32, the first value of one weight another one.
std::filesystem::path with_weight(const std::filesystem::path& path, const std::string& name, float value) {
  const auto file = open_tensor_file(upscale_golden("upscale_x4.safetensors"));
  std::vector<TensorInfo> tensors;
  for (const TensorInfo& t : file->tensors())
    if (!t.name.starts_with("golden.")) tensors.push_back({t.name, DType::kF32, t.shape, 0, 0});
  SafetensorsWriter writer(path, tensors);
  for (const TensorInfo& to : writer.tensors())
    for (const TensorInfo& t : file->tensors())
      if (t.name == to.name) {
        std::vector<float> values(static_cast<size_t>(t.shape.elements()));
        convert_to_f32(t.dtype, file->read(t).data(), values.data(), t.shape.elements());
        if (t.name == name) values[0] = value;
        writer.write(std::as_bytes(std::span(values)));
      }
  writer.finish();
  return path;
}

TEST_F(Upscaling, ANetworkThatGivesNaNIsRefused) {
  const Upscaler upscaler(with_weight(folder / "nan.safetensors", "conv_body.bias", NAN));
  EXPECT_REFUSED(upscaler.upscale(cpu, scenery(9, 9), {.budget = kPlenty}, kQuiet), ErrorCode::kNumeric, "f32 too");
}

TEST_F(Upscaling, WhatBf16CannotHoldIsComputedInF32) {
  if (!cpu.computes_bf16()) GTEST_SKIP() << "bf16 takes AVX-512";
  // The largest float rounds to infinity in bf16.
  const Upscaler upscaler(with_weight(folder / "large.safetensors", "conv_hr.weight", 3.4028e38f));
  std::vector<std::string> messages;
  const Image image = upscaler.upscale(cpu, Image{9, 9, 3, std::vector<uint8_t>(243, 128)},
                                       {.compute = DType::kBF16, .budget = kPlenty}, [&](const Event& e) {
                                         if (e.kind == Event::Kind::kMessage) messages.push_back(e.text);
                                       });
  EXPECT_THAT(messages, ::testing::Contains(::testing::HasSubstr("again in f32")));
  EXPECT_EQ(image.width, 36);
}

TEST_F(Upscaling, FilesThatAreNoUpscalersAreRefused) {
  const auto load = [](const std::filesystem::path& path) { (void)Upscaler(path); };
  EXPECT_REFUSED(load(upscale_golden("tiny_sd1.safetensors")), ErrorCode::kUsage, "wanted an upscaler");
  EXPECT_REFUSED(load(upscale_golden("upscale_x2.safetensors")), ErrorCode::kUsage, "nothing that this version knows");
  EXPECT_REFUSED(load(folder / "none.pth"), ErrorCode::kNotFound, "none.pth");
  EXPECT_REFUSED(load(put(folder / "text.pth", "not a model")), ErrorCode::kBadFile, "text.pth");
  const std::string whole = read_file(upscale_golden("upscale_x2.pth"), 1 << 20);
  EXPECT_REFUSED(load(put(folder / "cut.pth", whole.substr(0, whole.size() / 2))), ErrorCode::kBadFile, "cut.pth");
  std::string renamed = read_file(upscale_golden("upscale_x4.safetensors"), 1 << 20);
  renamed.replace(renamed.find("conv_hr.bias"), 12, "conv_hr.bios");
  EXPECT_REFUSED(load(put(folder / "lacks.safetensors", renamed)), ErrorCode::kBadFile, "conv_hr.bias");
}

TEST_F(Upscaling, ResultsBeyondTheLimitsAreRefusedBeforeAnyWork) {
  const std::string in = stored(folder / "in.png", scenery(3000, 10)).string(),
                    x4 = upscale_golden("upscale_x4.safetensors").string();
  const auto refused = [&](const Json& more) {
    Json json = {{"inputs", {in}}, {"model", x4}};
    json.update(more);
    std::vector<Event> tiles;
    EXPECT_REFUSED(run(json,
                       [&](const Event& e) {
                         if (e.stage == "upscale") tiles.push_back(e);
                       }),
                   ErrorCode::kUsage, "16384");
    EXPECT_TRUE(tiles.empty());
  };
  refused({{"repeats", 2}});
  refused({{"scale", 6}});
  EXPECT_REFUSED(run({{"inputs", {put(folder / "x.png", "GIF89a").string()}}, {"model", x4}}), ErrorCode::kUnsupported,
                 "GIF");
  EXPECT_REFUSED(run({{"inputs", {(folder / "no.png").string()}}, {"model", x4}}), ErrorCode::kNotFound, "no.png");
}

TEST(UpscaleSizes, RepeatAsOftenAsTheScaleTakesAndFits) {
  UpscaleRequest r;
  EXPECT_EQ(upscale_sizes(r, 100, 50, 4).passes, 1);
  r.scale = 5;
  EXPECT_EQ(upscale_sizes(r, 100, 50, 4).passes, 2);
  EXPECT_EQ(upscale_sizes(r, 100, 50, 4).width, 500);
  EXPECT_EQ(upscale_sizes(r, 3000, 1000, 4).passes, 1) << "48000 pixels would be too many on the way";
  EXPECT_EQ(upscale_sizes(r, 100, 50, 1).passes, 1);
  r.scale = 0.001;
  EXPECT_EQ(upscale_sizes(r, 100, 50, 4).height, 1);
}

TEST(UpscaleRequests, AreChecked) {
  const auto parse = [](const Json& more) {
    Json json = {{"inputs", {"a.png"}}, {"model", "m.pth"}};
    json.update(more);
    return parse_upscale_request(to_text(json));
  };
  const UpscaleRequest all = parse({{"scale", 2.5},
                                    {"repeats", 3},
                                    {"tile", 256},
                                    {"second_filter", "lanczos"},
                                    {"second_visibility", 0.5},
                                    {"metadata", false},
                                    {"precision", "f32"},
                                    {"threads", 2},
                                    {"memory", "4GiB"}});
  EXPECT_EQ(all.scale, 2.5);
  EXPECT_EQ(all.repeats, 3);
  EXPECT_EQ(all.tile, 256);
  EXPECT_EQ(all.second->filter, "lanczos");
  EXPECT_FALSE(all.metadata);
  EXPECT_EQ(all.machine.threads, 2);
  EXPECT_EQ(all.machine.memory, int64_t{4} << 30);
  const std::pair<Json, const char*> wrong[] = {
      {{{"scale", 0}}, "scale: wanted a number from 0.05 to 64, found 0"},
      {{{"scale", "big"}}, "found \"big\""},
      {{{"repeats", 9}}, "repeats"},
      {{{"repeats", 1.5}}, "repeats"},
      {{{"tile", -1}}, "tile"},
      {{{"width", 20000}}, "width"},
      {{{"scale", 2}, {"width", 5}}, "both given"},
      {{{"crop", true}}, "crop"},
      {{{"crop", 1}}, "true or false"},
      {{{"filter", "lanczos"}}, "both given"},
      {{{"model", nullptr}}, "model: missing"},
      {{{"model", nullptr}, {"filter", "lanczos"}}, "scale: missing"},
      {{{"model", nullptr}, {"filter", "cubic"}}, "lanczos or nearest"},
      {{{"second_model", "x"}}, "go together"},
      {{{"second_visibility", 0.5}}, "go together"},
      {{{"second_model", "x"}, {"second_visibility", 1.5}}, "second_visibility"},
      {{{"inputs", Json::array()}}, "inputs"},
      {{{"inputs", "a.png"}}, "inputs"},
      {{{"inputs", {1}}}, "inputs"},
      {{{"scales", 2}}, "unknown field \"scales\"; known: inputs"},
      {{{"metadata, precision", 2}}, "unknown field"},
      {{{"precision", "f64"}}, "precision"},
      {{{"threads", -3}}, "threads"},
      {{{"memory", "lots"}}, "memory"},
  };
  for (const auto& [json, text] : wrong) EXPECT_REFUSED((void)parse(json), ErrorCode::kUsage, text);
  EXPECT_REFUSED((void)parse_upscale_request("[]"), ErrorCode::kUsage, "not a JSON object");
  EXPECT_REFUSED((void)parse_upscale_request("{"), ErrorCode::kUsage, "the request");
}

}  // namespace
}  // namespace gesso
