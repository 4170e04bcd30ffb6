// Tiny autoencoders in place of a model's own: on the tiny checkpoints, against the network by itself.
#include "device/cpu/cpu_device.h"
#include "pipeline/model_files.h"
#include "pipeline/stages.h"
#include "support/golden.h"
#include "temp_folder.h"

namespace gesso {
namespace {

struct TinyCodec : ::testing::Test {
  CpuDevice cpu;
  EventSink ignore = [](const Event&) {};

  static std::string golden_file(const std::string& name) { return GESSO_TEST_DATA "/golden/" + name + ".safetensors"; }
  static Request request() {
    Request r;
    r.model = golden_file("tiny_sd1");
    r.taesd = golden_file("taesd");
    r.prompt = "a fox";
    r.width = 64;
    r.height = 80;
    r.steps = 2;
    r.precision = "f32";
    r.prediction = "eps";
    return r;
  }
  static Latent some_latent() {
    Latent latent = zero_latent(4, 10, 8);
    for (size_t i = 0; i < latent.size(); ++i) latent.values[i] = 3 * std::sin(static_cast<float>(i));
    return latent;
  }
  std::vector<uint8_t> picture_of(const Request& r) {
    return make_engine({})->generate(r, ignore, {}).pictures[0].pixels;
  }
};

TEST_F(TinyCodec, DecodesLatentsAsTheDenoiserHasThem) {
  const LoadedModel loaded = load_model(request());
  ASSERT_TRUE(loaded.tiny);
  const Latent latent = some_latent();
  std::vector<float> expected =
      to_values((*loaded.tiny->decoder)(to_channels_last(from_values(cpu, latent.values, {1, 4, 10, 8}))));
  for (float& v : expected) v = 2 * v - 1;
  EXPECT_EQ(picture_codec(loaded, request()).decode(cpu, latent, DType::kF32), expected);
}

TEST_F(TinyCodec, EncodesToLatentsAsTheDenoiserHasThem) {
  const LoadedModel loaded = load_model(request());
  std::vector<float> picture(3 * 64 * 80);
  for (size_t i = 0; i < picture.size(); ++i) picture[i] = std::sin(0.1f * static_cast<float>(i));
  std::vector<float> positive = picture;
  for (float& v : positive) v = 0.5f * v + 0.5f;
  const Tensor expected = to_channels_first((*loaded.tiny->encoder)(from_values(cpu, positive, {1, 80, 64, 3})));
  EXPECT_EQ(picture_codec(loaded, request()).encode(cpu, picture, 64, 80, DType::kF32).values, to_values(expected));
}

TEST_F(TinyCodec, PaintsWithoutAnotherAutoencoder) {
  Request apart = request();
  apart.model.clear();
  apart.diffusion_model = apart.clip_l = golden_file("tiny_sd1");  // each field takes its own part
  const std::vector<uint8_t> with = picture_of(request());
  EXPECT_EQ(picture_of(apart), with);
  Request without = request();
  without.taesd.clear();
  EXPECT_NE(picture_of(without), with);

  apart.taesd.clear();
  EXPECT_REFUSED(picture_of(apart), ErrorCode::kNotFound, "--vae FILE");
}

TEST_F(TinyCodec, ForPreviewsAloneItLeavesThePictureAsItIs) {
  Request preview_only = request(), without = request();
  preview_only.taesd_preview_only = true;
  without.taesd.clear();
  EXPECT_EQ(picture_of(preview_only), picture_of(without));

  preview_only.model.clear();
  preview_only.diffusion_model = preview_only.clip_l = golden_file("tiny_sd1");
  EXPECT_REFUSED(picture_of(preview_only), ErrorCode::kNotFound, "--vae FILE");
  std::string said;
  without.taesd_preview_only = true;
  (void)make_engine({})->generate(without, [&](const Event& e) { said += e.text; }, {});
  EXPECT_NE(said.find("taesd_preview_only has no effect"), said.npos);
}

TEST_F(TinyCodec, OneOfAnotherModelIsRefused) {
  Request r = request();
  r.model = golden_file("tiny_flux1");  // 16 latent channels
  r.clip_l = golden_file("tiny_sdxl");
  EXPECT_REFUSED(picture_of(r), ErrorCode::kBadFile, "latents of 16 channels");
  r = request();
  r.taesd = golden_file("vae_kl");
  EXPECT_REFUSED(picture_of(r), ErrorCode::kUsage, "--taesd");
}

TEST_F(TinyCodec, TheSmallerDecoderIsPlannedFor) {
  Request without = request();
  without.taesd.clear();
  const auto weights_of_decoding = [](const Request& r) {
    const Plan plan = make_engine({})->plan(r);
    for (const Json& stage : plan.json.at("stages"))
      if (stage.at("name") == "decode") return stage.at("weight_bytes").get<int64_t>();
    return int64_t{0};
  };
  EXPECT_GT(weights_of_decoding(request()), 0);
  EXPECT_LT(weights_of_decoding(request()), weights_of_decoding(without));
}

}  // namespace
}  // namespace gesso
