// Whole runs, from prompt to picture, against diffusers and k-diffusion on tiny models of the families.
#include "base/files.h"
#include "base/threads.h"
#include "device/cpu/cpu_device.h"
#include "io/safetensors_writer.h"
#include "pipeline/convert.h"
#include "pipeline/model_files.h"
#include "pipeline/stages.h"
#include "sampling/flow_shift.h"
#include "support/golden.h"
#include "temp_folder.h"

namespace gesso {
namespace {

std::string data(const std::string& name) {
  return std::string(GESSO_TEST_DATA "/") + name;
}

struct Run : ::testing::Test {
  CpuDevice cpu;
  EventSink ignore = [](const Event&) {};

  /// The request that the golden's metadata describes.
  Request request(const Golden& golden, const std::string& model) {
    const auto& meta = golden.file->metadata();
    Request r;
    r.model = model;
    r.prompt = meta.at("golden.prompt");
    r.negative_prompt = meta.at("golden.negative_prompt");
    r.width = std::stoi(meta.at("golden.width"));
    r.height = std::stoi(meta.at("golden.height"));
    r.steps = std::stoi(meta.at("golden.steps"));
    r.cfg_scale = std::stod(meta.at("golden.cfg"));
    r.seed = std::stoi(meta.at("golden.seed"));
    r.sampling_method = "euler";
    r.scheduler = "discrete";
    r.rng = "cpu";
    return r;
  }

  void expect_picture(const std::string& name, const std::string& model) {
    const Golden golden(name);
    expect_picture(golden, request(golden, model));
  }
  void expect_picture(const Golden& golden, Request r) {
    const LoadedModel loaded = load_model(r);
    if (!r.guidance) r.guidance = loaded.model->defaults().guidance;
    r.prediction = loaded.model->denoising().prediction;
    r.clip_skip = loaded.model->defaults().clip_skip;
    const Work work{*loaded.model, cpu, r, DType::kF32, ignore};

    const TextStates text = encode_text(work);
    const Conditioning& cond = text.states[text.plan.cond[0].steps[0]];
    EXPECT_LT(relative_error(cond.context, golden.tensor(cpu, "txt2img.cond")), kF32Bound);
    if (!text.plan.uncond.empty()) {
      const Conditioning& uncond = text.states[text.plan.uncond[0]];
      EXPECT_LT(relative_error(uncond.context, golden.tensor(cpu, "txt2img.uncond")), kF32Bound);
    }
    if (golden.has("txt2img.y")) {
      EXPECT_LT(relative_error(cond.vector, golden.tensor(cpu, "txt2img.y")), kF32Bound);
    }

    const Latent latent = denoise(work, text, encode_canvas(work, nullptr), r.seed);
    const Tensor steps = golden.tensor(cpu, "txt2img.steps");
    const Tensor last = steps.slice(steps.dim(0) - 1, steps.dim(0));
    const Tensor actual = from_values(cpu, latent.values, last.shape());
    EXPECT_LT(relative_error(actual, last), kF32Bound);

    const std::vector<uint8_t> pixels = decode(work, latent);
    const Tensor image = to_channels_last(golden.tensor(cpu, "txt2img.image").reshape({1, 3, *r.height, *r.width}));
    const std::vector<float> expected = to_values(image);
    ASSERT_EQ(pixels.size(), expected.size());
    for (size_t i = 0; i < pixels.size(); ++i)
      EXPECT_NEAR(pixels[i], std::clamp(expected[i] * 127.5f + 127.5f, 0.f, 255.f), 0.6) << "byte " << i;
  }
};

TEST_F(Run, StableDiffusion1) {
  expect_picture("tiny_sd1", data("golden/tiny_sd1.safetensors"));
}
TEST_F(Run, StableDiffusion2WithVelocity) {
  expect_picture("tiny_sd2", data("golden/tiny_sd2.safetensors"));
}
TEST_F(Run, StableDiffusionXl) {
  expect_picture("tiny_sdxl", data("golden/tiny_sdxl.safetensors"));
}
TEST_F(Run, DiffusersFolderGivesTheSamePicture) {
  expect_picture("tiny_sd1", data("diffusers_tiny"));
}

/// The tensors of a golden whose names begin with `prefix`, as a file of their own without it; a text encoder so tiny
/// that only the prefix tells which it is keeps its names.
std::string part_of(const Golden& golden, const std::string& prefix, const std::filesystem::path& target) {
  std::vector<TensorInfo> stored, named;
  for (const TensorInfo& t : golden.file->tensors())
    if (t.name.starts_with(prefix)) {
      stored.push_back(t);
      named.push_back(t);
      if (!prefix.ends_with(".model.")) named.back().name = t.name.substr(prefix.size());
    }
  SafetensorsWriter writer(target, named, golden.file->metadata());
  for (const TensorInfo& t : stored) writer.write(golden.file->read(t));
  writer.finish();
  return target;
}

TEST_F(Run, LoosePartsGiveTheSamePicture) {
  struct Part {
    std::string Request::*member;
    const char* prefix;
  };
  const std::pair<const char*, std::vector<Part>> models[] = {
      {"tiny_sd1", {{&Request::clip_l, "cond_stage_model.transformer."}}},
      {"tiny_sd2", {{&Request::clip_h, "cond_stage_model.model."}}},
      {"tiny_sdxl",
       {{&Request::clip_l, "conditioner.embedders.0.transformer."},
        {&Request::clip_g, "conditioner.embedders.1.model."}}}};
  const gesso::testing::TempFolder folder;
  for (auto [name, parts] : models) {
    SCOPED_TRACE(name);
    parts.push_back({&Request::diffusion_model, "model.diffusion_model."});
    parts.push_back({&Request::vae, "first_stage_model."});
    const Golden golden(name);
    Request r = request(golden, "");
    for (const auto& [member, prefix] : parts)
      r.*member = part_of(golden, prefix, folder / (std::string(name) + "-" + prefix + "safetensors"));
    expect_picture(golden, r);
  }
}

/// A case of tests/data/golden that paints over a picture: from its init picture to its last latent and its pixels.
struct PaintingOver : Run {
  void expect_case(const Golden& golden, Request r, const std::string& name, const Image& picture,
                   std::vector<float> mask) {
    r.init_image = "the golden's";  // which is not read here
    const LoadedModel loaded = load_model(r);
    r.prediction = loaded.model->denoising().prediction;
    r.clip_skip = loaded.model->defaults().clip_skip;
    const Work work{*loaded.model, cpu, r, DType::kF32, ignore};
    Canvas canvas;
    canvas.picture = picture;
    canvas.mask = std::move(mask);
    const StartingPoint start = encode_canvas(work, &canvas);
    const Tensor steps = golden.tensor(cpu, name + ".steps"), last = steps.slice(steps.dim(0) - 1, steps.dim(0));
    const Tensor encoded = golden.tensor(cpu, name + ".latent");
    EXPECT_LT(relative_error(from_values(cpu, start.picture.values, encoded.shape()), encoded), kF32Bound);
    if (golden.has(name + ".extra")) {
      const Tensor extra = golden.tensor(cpu, name + ".extra");
      EXPECT_LT(relative_error(from_values(cpu, start.extra.values, extra.shape()), extra), kF32Bound);
    }
    const Latent latent = denoise(work, encode_text(work), start, r.seed);
    EXPECT_LT(relative_error(from_values(cpu, latent.values, last.shape()), last), kF32Bound);
  }

  /// A picture [1, 3, h, w] of whole numbers from 0 to 255.
  Image image_of(const Tensor& values) {
    const std::vector<float> x = to_values(to_channels_last(values));
    Image image{static_cast<int>(values.dim(3)), static_cast<int>(values.dim(2)), 3, {}};
    for (const float v : x) image.pixels.push_back(static_cast<uint8_t>(v));
    return image;
  }
};

TEST_F(PaintingOver, WithinTheMaskByANetworkThatSeesIt) {
  const Golden golden("tiny_sd1_inpaint");
  Request r = request(golden, data("golden/tiny_sd1.safetensors"));
  r.diffusion_model = data("golden/tiny_sd1_inpaint.safetensors");
  r.strength = 1;
  expect_case(golden, r, "network", image_of(golden.tensor(cpu, "network.init")),
              to_values(golden.tensor(cpu, "network.mask")));
}

TEST_F(PaintingOver, WithinTheMaskByAnyNetwork) {
  const Golden golden("tiny_sd1_inpaint");
  Request r = request(golden, data("golden/tiny_sd1.safetensors"));
  r.strength = 0.8;
  expect_case(golden, r, "kept", image_of(golden.tensor(cpu, "kept.init")), to_values(golden.tensor(cpu, "kept.mask")));
}

TEST_F(PaintingOver, ANetworkForInpaintingPaintsWithoutAPictureToo) {
  Request r = request(Golden("tiny_sd1_inpaint"), data("golden/tiny_sd1.safetensors"));
  r.diffusion_model = data("golden/tiny_sd1_inpaint.safetensors");
  EXPECT_EQ(make_engine({})->generate(r, ignore, {}).pictures.size(), 1u);
}

/// The scheduler that diffusers' flow pipelines stand for.
Request flow_request(Request r) {
  r.scheduler = "simple";
  r.clip_l = data("golden/tiny_sdxl.safetensors");
  return r;
}

TEST_F(Run, Flux1) {
  const Golden golden("tiny_flux1");
  Request r = flow_request(request(golden, data("golden/tiny_flux1.safetensors")));
  r.guidance = std::stod(golden.file->metadata().at("golden.guidance"));
  expect_picture(golden, r);
}

TEST_F(Run, Flux1IsToldItsGuidance) {
  const auto engine = make_engine({});
  const Golden golden("tiny_flux1");
  Request r = flow_request(request(golden, data("golden/tiny_flux1.safetensors")));
  r.precision = "f32";
  const auto by_default = engine->generate(r, ignore, {}).pictures[0].pixels;
  r.guidance = 3.5;
  EXPECT_EQ(engine->generate(r, ignore, {}).pictures[0].pixels, by_default);
  r.guidance = 1;
  EXPECT_NE(engine->generate(r, ignore, {}).pictures[0].pixels, by_default);
}

TEST_F(Run, TheShiftOfAFlowCanBeGiven) {
  const auto engine = make_engine({});
  for (const char* name : {"tiny_flux1", "tiny_sd3"}) {
    const Golden golden(name);
    Request r = flow_request(request(golden, golden.file->path()));
    r.clip_g = data("golden/tiny_sdxl.safetensors");
    r.t5xxl = data("golden/tiny_flux1.safetensors");
    r.precision = "f32";
    const auto by_default = engine->generate(r, ignore, {}).pictures[0].pixels;
    // What the models take by themselves: mu of 20 tokens, and the shift 3.
    r.flow_shift = name == std::string("tiny_sd3") ? 3 : mu_for_tokens(*r.width / 16 * (*r.height / 16));
    EXPECT_EQ(engine->generate(r, ignore, {}).pictures[0].pixels, by_default) << name;
    r.flow_shift = 2;
    EXPECT_NE(engine->generate(r, ignore, {}).pictures[0].pixels, by_default) << name;
  }
}

TEST_F(Run, WhatHasNoEffectIsSaid) {
  Request r = request(Golden("tiny_sd1"), data("golden/tiny_sd1.safetensors"));
  r.steps = 1;
  std::vector<std::string> said;
  const EventSink sink = [&](const Event& e) {
    if (e.text.find("has no effect") != std::string::npos) said.push_back(e.text.substr(0, e.text.find(' ')));
  };
  const auto engine = make_engine({});
  r.eta = 0.5;
  r.sampling_method = "euler_a";
  (void)engine->generate(r, sink, {});
  EXPECT_THAT(said, ::testing::IsEmpty());
  r.sampling_method = "euler";
  r.strength = 0.5;
  r.flow_shift = 3;
  r.guidance = 2;
  (void)engine->generate(r, sink, {});
  EXPECT_THAT(said, ::testing::ElementsAre("strength", "eta", "flow_shift", "guidance"));
}

TEST_F(Run, MoreThreadsThanProcessorsAreClampedAndSaid) {
  Request r = request(Golden("tiny_sd1"), data("golden/tiny_sd1.safetensors"));
  r.steps = 1;
  r.threads = 10000;
  std::vector<std::string> said;
  const auto engine = make_engine({});
  const auto picture = engine->generate(r, [&](const Event& e) { said.push_back(e.text); }, {}).pictures[0].pixels;
  EXPECT_THAT(said, ::testing::Contains(::testing::StartsWith("threads: 10000 are more than the ")));
  EXPECT_LE(thread_count(), processor_count());
  r.threads = 1;
  EXPECT_EQ(engine->generate(r, ignore, {}).pictures[0].pixels, picture);
}

TEST_F(Run, StableDiffusion3) {
  const Golden golden("tiny_sd3");
  Request r = flow_request(request(golden, data("golden/tiny_sd3.safetensors")));
  r.clip_g = data("golden/tiny_sdxl.safetensors");
  r.t5xxl = data("golden/tiny_flux1.safetensors");
  expect_picture(golden, r);
}

TEST_F(Run, StableDiffusion3WithoutT5SaysSo) {
  const Golden golden("tiny_sd3");
  Request r = flow_request(request(golden, data("golden/tiny_sd3.safetensors")));
  r.clip_g = data("golden/tiny_sdxl.safetensors");
  const LoadedModel loaded = load_model(r);
  EXPECT_THAT(loaded.messages, ::testing::Contains(::testing::HasSubstr("--t5xxl")));
  const PromptOptions options{.clip_skip = loaded.model->defaults().clip_skip};
  const Conditioning cond = loaded.model->encode(cpu, DType::kF32, r.prompt, options);
  EXPECT_LT(relative_error(cond.context, golden.tensor(cpu, "no_t5.cond")), kF32Bound);
}

TEST_F(Run, WhatT5CannotReadIsSaid) {
  const Golden golden("tiny_flux1");
  Request r = flow_request(request(golden, data("golden/tiny_flux1.safetensors")));
  for (int i = 0; i < 100; ++i) r.prompt += " a";
  std::vector<std::string> messages;
  const EventSink sink = [&](const Event& e) {
    if (e.kind == Event::Kind::kMessage) messages.push_back(e.text);
  };
  (void)make_engine({})->generate(r, sink, {});
  EXPECT_THAT(messages, ::testing::Contains(::testing::HasSubstr("the first 63 are used")));
}

TEST_F(Run, ComponentsOfOtherModelsAreNamed) {
  const Golden golden("tiny_flux1");
  Request r = request(golden, data("golden/tiny_flux1.safetensors"));
  EXPECT_THAT([&] { (void)load_model(r); }, ::testing::ThrowsMessage<Error>(::testing::HasSubstr("--clip_l FILE")));
  r.clip_l = data("golden/tiny_sd1.safetensors");  // 8 channels where 4 are wanted
  EXPECT_THAT([&] { (void)load_model(r); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("belong to different models")));
}

TEST_F(Run, ADiffusersFolderBecomesOneFile) {
  const testing::TempFolder folder;
  const auto engine = make_engine({});
  Request r = request(Golden("tiny_sd1"), data("golden/tiny_sd1.safetensors"));
  r.steps = 2;
  const auto expected = engine->generate(r, ignore, {}).pictures[0].pixels;
  for (const char* name : {"folder.gguf", "folder.safetensors"}) {
    r.model = (folder / name).string();
    convert_files({{data("diffusers_tiny")}, r.model, {}, {}, true}, ignore, {});
    EXPECT_EQ(engine->generate(r, ignore, {}).pictures[0].pixels, expected) << name;
  }
}

/// The demo model in other types and formats: a picture of trained weights, which errors do not grow without bound in.
struct Converted : Run {
  const testing::TempFolder folder;
  const std::unique_ptr<Engine> engine = make_engine({});

  std::string convert(const std::string& input, const char* output, DType type) {
    const auto path = folder / output;
    convert_files({{input}, path, type, {}, true}, ignore, {});
    return path.string();
  }
  std::vector<uint8_t> paint(const std::string& model) {
    Request r;
    r.model = model;
    r.prompt = "a red house under a yellow sun";
    r.width = r.height = 64;
    r.steps = 2;
    r.seed = 1;
    r.precision = "f32";  // what differs is the weights' doing, not the rounding of bf16
    return engine->generate(r, ignore, {}).pictures[0].pixels;
  }
  static inline const std::string kDemo = GESSO_SOURCE_DIR "/models/demo/gesso-demo.safetensors";  // of F16
};

TEST_F(Converted, WhatLosesNothingGivesTheSamePicture) {
  const auto expected = paint(kDemo);
  const std::string wide = convert(kDemo, "f32.safetensors", DType::kF32);
  EXPECT_EQ(paint(wide), expected);
  EXPECT_EQ(paint(convert(wide, "f16.safetensors", DType::kF16)), expected);
  EXPECT_EQ(paint(convert(wide, "f16.gguf", DType::kF16)), expected);
}

TEST_F(Converted, EightBitsGiveNearlyTheSamePicture) {
  const auto expected = paint(kDemo);
  const std::string path = convert(kDemo, "q8_0.gguf", DType::kQ8_0);
  const auto pixels = paint(path);
  ASSERT_EQ(pixels.size(), expected.size());
  double squares = 0;
  for (size_t i = 0; i < pixels.size(); ++i) squares += (pixels[i] - expected[i]) * (pixels[i] - expected[i]);
  EXPECT_NE(pixels, expected);
  const double rms = std::sqrt(squares / static_cast<double>(pixels.size()));
  RecordProperty("rms", std::to_string(rms));
  // A weight is off by at most 1/254 of the largest of its 32, which two steps made 1.40 of 255 levels; processors
  // differ in the last bits only.
  EXPECT_LT(rms, 2);

  const auto components = engine->inspect({path}).json["files"][0]["components"];
  EXPECT_EQ(components[0]["role"], "diffusion_model");
  EXPECT_GT(components[0]["dtypes"].value("Q8_0", 0), 50) << components.dump();
}

TEST_F(Run, EngineRepeatsAndBatchesByteForByte) {
  const auto engine = make_engine({});
  Request r = request(Golden("tiny_sd1"), data("golden/tiny_sd1.safetensors"));
  r.batch_count = 3;
  r.threads = 2;
  const GenerateResult batch = engine->generate(r, ignore, {});
  ASSERT_EQ(batch.pictures.size(), 3u);
  r.batch_count = 1;
  r.threads = 1;
  for (int k = 0; k < 3; ++k) {
    r.seed = batch.resolved.seed + k;
    const GenerateResult one = engine->generate(r, ignore, {});
    EXPECT_EQ(one.pictures[0].pixels, batch.pictures[static_cast<size_t>(k)].pixels) << "picture " << k;
    EXPECT_EQ(batch.pictures[static_cast<size_t>(k)].seed, r.seed);
  }
  EXPECT_NE(batch.pictures[0].pixels, batch.pictures[1].pixels);
}

TEST_F(Run, EveryResidencyPaintsTheSamePicture) {
  const auto engine = make_engine({});
  Request r;  // a model whose weights weigh more than its activations
  r.model = GESSO_SOURCE_DIR "/models/demo/gesso-demo.safetensors";
  r.prompt = "a red house";
  r.width = r.height = 64;
  r.steps = 2;
  r.sampling_method = "euler";
  const auto resident = engine->generate(r, ignore, {}).pictures[0].pixels;
  const auto whole = engine->plan(r).json;
  EXPECT_EQ(whole["residency"], "resident");
  std::set<std::string> seen;
  std::vector<int64_t> kept;
  // Smaller and smaller budgets, until the engine says that nothing fits.
  for (int64_t budget = whole["peak_bytes"].get<int64_t>() - 1; budget > 0; budget = budget * 9 / 10) {
    r.memory = budget;
    try {
      const Json plan = engine->plan(r).json;
      seen.insert(plan["residency"].get<std::string>());
      EXPECT_LE(plan["peak_bytes"].get<int64_t>(), budget);
      if (plan["residency"] == "streamed") kept.push_back(plan["kept_bytes"].get<int64_t>());
      EXPECT_EQ(engine->generate(r, ignore, {}).pictures[0].pixels, resident) << budget;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("--memory"));
      break;
    }
  }
  EXPECT_THAT(seen, ::testing::ElementsAre("staged", "streamed"));
  ASSERT_GT(kept.size(), 1u);
  EXPECT_TRUE(std::ranges::is_sorted(kept, std::greater())) << "less room, less that stays";
  EXPECT_GT(kept.front(), kept.back());
}

TEST_F(Run, CancelStopsWithinAStepAndTheNextRequestRuns) {
  const auto engine = make_engine({});
  Request r = request(Golden("tiny_sd1"), data("golden/tiny_sd1.safetensors"));
  CancelToken cancel;
  int steps = 0;
  const EventSink stop = [&](const Event& e) {
    if (e.kind == Event::Kind::kStep && e.stage == "denoise" && ++steps == 2) cancel.cancel();
  };
  try {
    (void)engine->generate(r, stop, cancel);
    FAIL() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  EXPECT_EQ(steps, 2);
  EXPECT_EQ(engine->generate(r, ignore, {}).pictures.size(), 1u);
}

TEST_F(Run, MissingComponentsAreNamedWithTheirOptions) {
  Request r;
  r.model = data("golden/unet_sd1.safetensors");
  r.prompt = "x";
  EXPECT_THAT([&] { (void)load_model(r); }, ::testing::ThrowsMessage<Error>(::testing::AllOf(
                                                ::testing::HasSubstr("--clip_l"), ::testing::HasSubstr("--vae"))));
  r.model = data("golden/vae_kl.safetensors");
  EXPECT_THAT([&] { (void)load_model(r); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("no diffusion model")));
  r.model = data("golden/tiny_sd1.safetensors");
  r.vae = data("golden/clip_l.safetensors");
  EXPECT_THAT([&] { (void)load_model(r); }, ::testing::ThrowsMessage<Error>(::testing::HasSubstr("--vae: wanted")));
}

/// A copy of the tiny model in which every value of one tensor is NaN.
std::filesystem::path spoiled(const std::filesystem::path& target, const std::string& name) {
  const Golden golden("tiny_sd1");
  std::string bytes = read_file(golden.file->path(), size_t{1} << 24);
  for (const TensorInfo& t : golden.file->tensors()) {
    if (t.name != name) continue;
    const std::string_view stored(reinterpret_cast<const char*>(golden.file->read(t).data()), t.bytes);
    for (size_t i = bytes.find(stored), end = i + t.bytes; i < end; i += 2) {  // f16
      bytes[i] = 0x00;
      bytes[i + 1] = 0x7e;
    }
  }
  return gesso::testing::put(target, bytes);
}

TEST_F(Run, NanIsNeverAPicture) {
  const gesso::testing::TempFolder folder;
  const std::pair<const char*, const char*> cases[] = {
      {"text", "cond_stage_model.transformer.text_model.final_layer_norm.bias"},
      {"denoise", "model.diffusion_model.out.2.bias"},
      {"decode", "first_stage_model.decoder.conv_out.bias"}};
  for (const auto& [stage, tensor] : cases)
    for (const char* precision : {"f32", "bf16"}) {
      if (precision == std::string("bf16") && !cpu.computes_bf16()) continue;
      Request r = request(Golden("tiny_sd1"), spoiled(folder / "model.safetensors", tensor));
      r.precision = precision;
      std::vector<std::string> messages;
      const EventSink sink = [&](const Event& e) {
        if (e.kind == Event::Kind::kMessage) messages.push_back(e.text);
      };
      try {
        (void)make_engine({})->generate(r, sink, {});
        FAIL() << stage;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kNumeric) << error.what();
        EXPECT_THAT(error.what(), ::testing::HasSubstr(stage));
      }
      // bf16 is tried again in f32 before it is given up.
      const bool again = std::any_of(messages.begin(), messages.end(),
                                     [](const std::string& m) { return m.find("again in f32") != std::string::npos; });
      EXPECT_EQ(again, std::string(precision) == "bf16") << stage;
    }
}

TEST_F(Run, DamagedFilesAreRefusedWhereverTheyAreCut) {
  const gesso::testing::TempFolder folder;
  const std::string whole = read_file(data("golden/tiny_sd1.safetensors"), size_t{1} << 24);
  for (const size_t size : {size_t{0}, size_t{7}, size_t{100}, whole.size() / 2, whole.size() - 1}) {
    Request r;
    r.prompt = "x";
    r.model = gesso::testing::put(folder / "cut.safetensors", whole.substr(0, size));
    try {
      (void)load_model(r);
      FAIL() << size;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("cut.safetensors")) << size;
      EXPECT_THAT(error.what(), ::testing::Not(::testing::HasSubstr("\n")));
    }
  }
}

TEST_F(Run, PathsOfAnyScript) {
  const gesso::testing::TempFolder folder;  // its name has blanks, quotes, CJK, Cyrillic and an emoji
  std::filesystem::copy_file(data("golden/tiny_sd1.safetensors"), folder / "модель 猫.safetensors");
  const Request r = request(Golden("tiny_sd1"), folder / "модель 猫.safetensors");
  const GenerateResult result = make_engine({})->generate(r, ignore, {});
  EXPECT_THAT(result.pictures[0].parameters, ::testing::HasSubstr("модель 猫"));
  EXPECT_THAT(result.pictures[0].request_json, ::testing::Not(::testing::HasSubstr(folder.path().string())));
}

TEST_F(Run, SizesThatTheModelCannotPaintAreRefusedWithTheirNeighbours) {
  const auto engine = make_engine({});
  Request r = request(Golden("tiny_sd1"), data("golden/tiny_sd1.safetensors"));
  r.width = 100;
  EXPECT_THAT(
      [&] { (void)engine->generate(r, ignore, {}); },
      ::testing::ThrowsMessage<Error>(::testing::AllOf(::testing::HasSubstr("96"), ::testing::HasSubstr("104"))));
}

}  // namespace
}  // namespace gesso
