// Models that stay open between requests: which they are, when they leave, and that no picture depends on them.
#include <filesystem>

#include "device/cpu/cpu_device.h"
#include "io/safetensors_writer.h"
#include "media/codec.h"
#include "ops/ops.h"
#include "pipeline/engine.h"
#include "pipeline/model_cache.h"
#include "pipeline/stages.h"
#include "temp_folder.h"

namespace gesso {
namespace {

struct OpenModels : ::testing::Test {
  const ::gesso::testing::TempFolder folder;
  const EventSink ignored = [](const Event&) {};

  void SetUp() override {
    for (const char* name : {"a", "b", "c"})
      std::filesystem::copy_file(GESSO_SOURCE_DIR "/models/demo/gesso-demo.safetensors", file(name));
  }
  std::string file(const std::string& name) const { return (folder.path() / (name + ".safetensors")).string(); }
  Request request(const std::string& name, const std::string& prompt = "a red house") const {
    Request r;
    r.model = file(name);
    r.prompt = prompt;
    r.width = r.height = 64;
    r.steps = 2;
    r.seed = 7;
    return r;
  }
  static std::string names(Engine& engine) {
    std::string text;
    for (const LoadedModelInfo& model : engine.models()) text += model.name;
    return text;
  }
  std::vector<uint8_t> pixels(Engine& engine, const Request& r) const {
    return engine.generate(r, ignored, {}).pictures[0].pixels;
  }
};

TEST_F(OpenModels, StayAndAreBuiltOnce) {
  const auto engine = make_engine({});
  int loads = 0;
  const EventSink count = [&](const Event& e) { loads += e.kind == Event::Kind::kStage && e.stage == "load"; };
  for (const char* name : {"a", "b", "a", "b", "a"}) (void)engine->generate(request(name), count, {});
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(names(*engine), "ab");
  EXPECT_GT(engine->models()[1].bytes, 1 << 20);
  std::filesystem::last_write_time(file("a"), std::filesystem::file_time_type::clock::now());
  (void)engine->generate(request("a"), count, {});
  EXPECT_EQ(loads, 3) << "a changed file is another model";
  EXPECT_EQ(names(*engine), "ab");
}

TEST_F(OpenModels, LeaveWhenTheBudgetAsksForIt) {
  const auto probe = make_engine({});
  const Plan plan = probe->plan(request("a"));
  const auto peak = plan.json["peak_bytes"].get<int64_t>();
  int64_t weights = 0;
  for (const Json& stage : plan.json["stages"]) weights += stage["weight_bytes"].get<int64_t>();

  // room for the work with one model, and for the weights of one more
  const auto engine = make_engine({.memory = peak + weights + weights / 2});
  for (const char* name : {"a", "b", "c"}) (void)engine->generate(request(name), ignored, {});
  EXPECT_EQ(names(*engine), "cb") << "the one used least recently left";
  (void)engine->generate(request("b"), ignored, {});
  (void)engine->generate(request("a"), ignored, {});
  EXPECT_EQ(names(*engine), "ab");
  int64_t held = 0;
  for (const LoadedModelInfo& model : engine->models()) held += model.bytes;
  EXPECT_LE(held, peak + weights);
}

TEST_F(OpenModels, AreUnloadedByFileAndByAge) {
  const auto engine = make_engine({});
  for (const char* name : {"a", "b", "c"}) (void)engine->load(request(name));
  EXPECT_EQ(engine->unload(file("b"), 0), 1u);
  EXPECT_EQ(engine->unload(file("b"), 0), 0u);
  EXPECT_EQ(names(*engine), "ca");
  EXPECT_EQ(engine->unload("", 3600), 0u);
  EXPECT_EQ(engine->unload("", 0), 2u);
  EXPECT_EQ(names(*engine), "");
}

TEST_F(OpenModels, OneThatPaintsGoesAfterwards) {
  const auto engine = make_engine({});
  const auto alone = pixels(*engine, request("a"));
  bool in_use = false;
  size_t idle = 9, asked = 0;
  const EventSink unload = [&](const Event& event) {
    if (event.kind != Event::Kind::kStep || event.stage != "denoise" || event.step != 1) return;
    in_use = engine->models()[0].in_use;
    idle = engine->unload("", 1e-9);
    asked = engine->unload(file("a"), 0);
  };
  EXPECT_EQ(engine->generate(request("a"), unload, {}).pictures[0].pixels, alone);
  EXPECT_TRUE(in_use);
  EXPECT_EQ(idle, 0u) << "what paints is not idle";
  EXPECT_EQ(asked, 1u);
  EXPECT_EQ(names(*engine), "");
  EXPECT_EQ(pixels(*engine, request("a")), alone);
}

TEST_F(OpenModels, NoPictureDependsOnWhatWasPaintedBefore) {
  const auto warm = make_engine({});
  for (const char* prompt : {"a blue car", "a red house", "a tree"})
    (void)warm->generate(request("a", prompt), ignored, {});
  Request r = request("a");
  r.negative_prompt = "a tree";
  const auto fresh = pixels(*make_engine({}), r);
  EXPECT_EQ(pixels(*warm, r), fresh);
  EXPECT_EQ(pixels(*warm, r), fresh);
  r.clip_skip = 2;  // the same text, read otherwise
  EXPECT_EQ(pixels(*warm, r), pixels(*make_engine({}), r));
  r.precision = "f32";
  EXPECT_EQ(pixels(*warm, r), pixels(*make_engine({}), r));
}

/// A copy of the demo model whose autoencoder can only decode.
std::string decode_only(const std::filesystem::path& target) {
  const auto file = open_tensor_file(GESSO_SOURCE_DIR "/models/demo/gesso-demo.safetensors");
  std::vector<TensorInfo> kept;
  for (const TensorInfo& t : file->tensors())
    if (!t.name.starts_with("first_stage_model.encoder.") && !t.name.starts_with("first_stage_model.quant_conv."))
      kept.push_back(t);
  EXPECT_LT(kept.size(), file->tensors().size());
  SafetensorsWriter writer(target, kept, file->metadata());
  for (const TensorInfo& t : kept) writer.write(file->read(t));
  writer.finish();
  return target;
}

TEST_F(OpenModels, OneThatOnlyDecodesSaysSo) {
  const auto engine = make_engine({});
  Request r = request("a");
  r.model = decode_only(folder.path() / "decode only.safetensors");
  const auto picture = pixels(*engine, r);
  EXPECT_EQ(picture, pixels(*engine, request("a")));
  const std::string init = (folder.path() / "init.png").string();
  std::ofstream(init, std::ios::binary) << encode_image({64, 64, 3, picture}, PictureFormat::kPng, {}, {});
  r.init_image = init;
  EXPECT_REFUSED(static_cast<void>(engine->generate(r, ignored, {})), ErrorCode::kUnsupported, "encod");
  r.init_image.clear();
  EXPECT_EQ(pixels(*engine, r), picture) << "the engine lives on";
}

TEST_F(OpenModels, PromptsAreMeasured) {
  const auto engine = make_engine({});
  const auto tokens = [&](const std::string& prompt) {
    const auto lengths = engine->prompt_lengths(request("a"), prompt);
    EXPECT_EQ(lengths.size(), 1u);
    EXPECT_EQ(lengths[0].encoder, "clip_l");
    EXPECT_EQ(lengths[0].room, 75u);
    return std::pair(static_cast<int>(lengths[0].tokens), static_cast<int>(lengths[0].chunks));
  };
  EXPECT_EQ(tokens(""), std::pair(0, 1));
  EXPECT_EQ(tokens("a red house"), std::pair(3, 1));
  EXPECT_EQ(tokens("a (red:1.5) house"), std::pair(3, 1)) << "weights are no tokens";
  EXPECT_EQ(tokens("a [red:dark blue:0.5] house"), std::pair(4, 1)) << "the longest text counts";
  std::string words;
  for (int i = 0; i < 80; ++i) words += "house ";
  EXPECT_EQ(tokens(words), std::pair(80, 2));
}

TEST_F(OpenModels, ATextIsEncodedOnce) {
  Request r = request("a");
  r.cfg_scale = 7;
  r.guidance = 0;
  r.clip_skip = 1;
  r.sampling_method = "euler";
  r.scheduler = "discrete";
  r.prediction = "eps";
  CpuDevice cpu;
  const LoadedModel loaded = load_model(r);
  TextMemory texts;
  const auto states_of = [&](TextMemory* memory) {
    const Work work{
        .model = *loaded.model, .device = cpu, .request = r, .compute = DType::kF32, .sink = ignored, .texts = memory};
    return encode_text(work).states[0].context;
  };
  const Tensor first = states_of(&texts), again = states_of(&texts), without = states_of(nullptr);
  EXPECT_EQ(first.data<float>(), again.data<float>());
  EXPECT_NE(first.data<float>(), without.data<float>());
  EXPECT_EQ(to_values(first), to_values(without));
}

TEST(TextMemory, KeepsWhatWasUsedLast) {
  TextMemory memory;
  const PromptOptions options;
  for (int i = 0; i < 8; ++i) {
    TextMemory::States states{{}, DType::kF32};
    states.conditioning.notice = std::to_string(i);
    memory.keep(DType::kBF16, std::to_string(i), options, states);
  }
  ASSERT_TRUE(memory.find(DType::kBF16, "0", options));
  memory.keep(DType::kBF16, "8", options, {});
  EXPECT_EQ(memory.find(DType::kBF16, "0", options)->conditioning.notice, "0");
  EXPECT_EQ(memory.find(DType::kBF16, "0", options)->computed, DType::kF32);
  EXPECT_FALSE(memory.find(DType::kBF16, "1", options)) << "used least recently";
  EXPECT_FALSE(memory.find(DType::kF32, "0", options));
  PromptOptions wide = options;
  wide.width = 1024;
  EXPECT_FALSE(memory.find(DType::kBF16, "0", wide));
}

}  // namespace
}  // namespace gesso
