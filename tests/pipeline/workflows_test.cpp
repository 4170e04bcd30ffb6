// What prompts and noise of a request can ask for: against references on a tiny model, and by what the demo paints.
#include "device/cpu/cpu_device.h"
#include "models/unet.h"
#include "pipeline/model_files.h"
#include "pipeline/stages.h"
#include "sampling/noise.h"
#include "sampling/variation.h"
#include "support/golden.h"

namespace gesso {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Workflow : ::testing::Test {
  CpuDevice cpu;
  EventSink ignore = [](const Event&) {};
  Golden golden{"workflows"};

  static Request tiny() {
    Request r;
    r.model = GESSO_TEST_DATA "/golden/tiny_sd1.safetensors";
    r.prompt = "a photo of a fox";
    r.negative_prompt = "blurry, low quality";
    r.width = 64;
    r.height = 80;
    r.steps = 5;
    r.cfg_scale = 7;
    r.sampling_method = "euler";
    r.scheduler = "discrete";
    r.rng = "cpu";
    return r;
  }

  static Request demo(const std::string& prompt) {
    Request r;
    r.model = GESSO_SOURCE_DIR "/models/demo/gesso-demo.safetensors";
    r.prompt = prompt;
    r.width = r.height = 64;
    r.steps = 4;
    r.sampling_method = "euler";
    r.precision = "f32";
    return r;
  }

  std::vector<uint8_t> painted(Engine& engine, const Request& r) {
    return engine.generate(r, ignore, {}).pictures[0].pixels;
  }

  /// The latent of a tiny request, and with `image`, its picture [1, h, w, 3] before it is rounded.
  Tensor latent_of(Request r, Tensor* image = nullptr) {
    const LoadedModel loaded = load_model(r);
    r.guidance = 0;
    r.prediction = "eps";
    r.clip_skip = 1;
    const Work work{*loaded.model, cpu, r, DType::kF32, ignore};
    const Latent latent = denoise(work, encode_text(work), {}, Seeds(r.seed));
    if (image) {
      std::vector<float> values = latent.values;
      for (float& v : values) v /= loaded.model->latent_format().factor;
      const Tensor z = from_values(cpu, values, {1, latent.channels, latent.height, latent.width});
      const Wrapping wrapping(cpu, wrap_of(r));
      *image = loaded.model->decode(to_channels_last(z));
    }
    return from_values(cpu, latent.values, {1, latent.channels, latent.height, latent.width});
  }

  void expect_latent(const std::string& name, const Request& r) {
    EXPECT_LT(relative_error(latent_of(r), golden.tensor(cpu, name + ".latent")), kF32Bound) << name;
  }
};

TEST_F(Workflow, AnEditedPromptEqualsTheReference) {
  Request r = tiny();
  r.prompt = "[a photo of a fox:blurry, low quality:0.4]";
  r.negative_prompt = "";
  expect_latent("edited", r);
  r.prompt = "[a photo of a fox:blurry, low quality:2]";
  expect_latent("edited", r);
}

TEST_F(Workflow, AComposedPromptEqualsTheReference) {
  Request r = tiny();
  r.prompt = "a photo of a fox :1.2 AND a dog:0.5";
  expect_latent("composed", r);
}

TEST_F(Workflow, ComfyUisWeightsEqualTheReference) {
  Request r = tiny();
  const LoadedModel loaded = load_model(r);
  const Conditioning states = loaded.model->encode(cpu, DType::kF32, "a (photo:1.5) of a (fox:-0.5)",
                                                   {.clip_skip = 1, .syntax = PromptSyntax::kComfyUi});
  EXPECT_LT(relative_error(states.context, golden.tensor(cpu, "comfyui.states")), kF32Bound);
  const Conditioning other = loaded.model->encode(cpu, DType::kF32, "a (photo:1.5) of a (fox:-0.5)", {.clip_skip = 1});
  EXPECT_GT(relative_error(other.context, golden.tensor(cpu, "comfyui.states")), 0.01);
}

TEST_F(Workflow, SeamlessPicturesEqualTheReference) {
  Request r = tiny();
  r.circular_x = true;
  for (const char* name : {"seamless_x", "seamless"}) {
    r.circular_y = name == std::string("seamless");
    Tensor image;
    EXPECT_LT(relative_error(latent_of(r, &image), golden.tensor(cpu, std::string(name) + ".latent")), kF32Bound);
    const Tensor columns = golden.tensor(cpu, std::string(name) + ".columns");
    const Tensor rows = golden.tensor(cpu, std::string(name) + ".rows");
    // the first and last four columns and rows of the picture, where it closes
    const std::vector<float> pixels = to_values(to_channels_first(image));
    std::vector<float> near_columns, near_rows;
    for (int c = 0; c < 3; ++c)
      for (int y = 0; y < 80; ++y)
        for (int x = 0; x < 64; ++x) {
          const float value = pixels[static_cast<size_t>((c * 80 + y) * 64 + x)];
          if (x < 4 || x >= 60) near_columns.push_back(value);
          if (y < 4 || y >= 76) near_rows.push_back(value);
        }
    EXPECT_LT(relative_error(from_values(cpu, near_columns, columns.shape()), columns), kF32Bound);
    EXPECT_LT(relative_error(from_values(cpu, near_rows, rows.shape()), rows), kF32Bound);
  }
}

TEST_F(Workflow, VariationsEqualTheReference) {
  const auto noise_of = [](uint64_t seed) {
    return noise_like(*find_noise_source("cpu").make(seed), zero_latent(4, 10, 8));
  };
  const Tensor wanted = golden.tensor(cpu, "varied.noise");
  const Latent noise = varied(noise_of(42), noise_of(7), 0.3);
  EXPECT_LT(relative_error(from_values(cpu, noise.values, wanted.shape()), wanted), 1e-5);  // f32 against f64
  EXPECT_EQ(varied(noise_of(42), noise_of(7), 0).values, noise_of(42).values);
  const Latent far = varied(noise_of(42), noise_of(7), 1);
  for (size_t i = 0; i < far.size(); ++i) EXPECT_NEAR(far.values[i], noise_of(7).values[i], 1e-5);
  const Latent row{1, 1, 2, {1, -2}}, other{1, 1, 2, {3, 2}};
  for (const float value : varied(row, other, 0.5).values) EXPECT_TRUE(std::isfinite(value));
}

TEST_F(Workflow, EditsPaintWhatTheyName) {
  const auto engine = make_engine({});
  const auto house = painted(*engine, demo("a red house")), car = painted(*engine, demo("a blue car"));
  ASSERT_NE(house, car);
  EXPECT_EQ(painted(*engine, demo("[a red house:a blue car:0.0]")), car);
  EXPECT_EQ(painted(*engine, demo("[a red house:a blue car:1.0]")), house);
  const auto between = painted(*engine, demo("[a red house:a blue car:0.5]"));
  EXPECT_NE(between, house);
  EXPECT_NE(between, car);
  EXPECT_EQ(painted(*engine, demo("a [red house:blue car:2]")), between) << "two of four steps";
  const auto alternating = painted(*engine, demo("a [red house|blue car]"));
  EXPECT_NE(alternating, house);
  EXPECT_NE(alternating, between);
  EXPECT_EQ(painted(*engine, demo("a red house AND a red house:0")), house);
  EXPECT_NE(painted(*engine, demo("a red house AND a blue car")), house);
  Request r = demo("a red house");
  r.negative_prompt = "[blue:blue:0.5]";
  const auto edited = painted(*engine, r);
  r.negative_prompt = "blue";
  EXPECT_EQ(painted(*engine, r), edited);
  r.prompt_syntax = "comfyui";
  EXPECT_EQ(painted(*engine, r), edited) << "no weights, no difference";
  r.prompt = "[a red house:a blue car:0.0]";
  EXPECT_NE(painted(*engine, r), edited) << "text there";
}

TEST_F(Workflow, EachTextIsEncodedOnce) {
  int texts = 0;
  const EventSink count = [&](const Event& e) { texts += e.kind == Event::Kind::kStep && e.stage == "text"; };
  (void)make_engine({})->generate(demo("a [red|blue|red] house AND a red house"), count, {});
  EXPECT_EQ(texts, 3) << "two houses and the negative prompt";
}

TEST_F(Workflow, PromptsAreExplained) {
  Request r = demo("a [red:blue:0.5] (house:1.5) AND a sun :0.5");
  const std::string text = make_engine({})->explain(r);
  EXPECT_THAT(text, AllOf(HasSubstr("prompt, part 1 of 2, weight 1\n  steps 1 to 2: text 1: a red (house:1.5)\n"
                                    "  steps 3 to 4: text 2: a blue (house:1.5)\n"),
                          HasSubstr("prompt, part 2 of 2, weight 0.5\n  steps 1 to 4: text 3: a sun\n"),
                          HasSubstr("negative prompt\n"), HasSubstr("1.5  house</w>"), HasSubstr("chunk 1 of 1")));
}

TEST_F(Workflow, VariationsShareASeedAndDifferALittle) {
  const auto engine = make_engine({});
  Request r = demo("a red house");
  const auto plain = painted(*engine, r);
  r.subseed = 5;
  r.subseed_strength = 0;
  EXPECT_EQ(painted(*engine, r), plain);
  r.subseed_strength = 0.05;
  r.batch_count = 2;
  const GenerateResult batch = engine->generate(r, ignore, {});
  EXPECT_NE(batch.pictures[0].pixels, batch.pictures[1].pixels);
  EXPECT_EQ(batch.pictures[1].seed, r.seed);
  EXPECT_THAT(batch.pictures[1].parameters, HasSubstr("Variation seed: 6, Variation seed strength: 0.05"));
  r.batch_count = 1;
  r.subseed = 6;
  EXPECT_EQ(painted(*engine, r), batch.pictures[1].pixels) << "each repeats alone";
  const auto distance = [&](const std::vector<uint8_t>& a) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - plain[i]);
    return sum / static_cast<double>(a.size());
  };
  const double near = distance(batch.pictures[1].pixels);
  r.subseed_strength = 1;
  EXPECT_LT(near, 0.7 * distance(painted(*engine, r)));
  r.seed = 6;
  r.subseed_strength.reset();
  const auto other = painted(*engine, r);
  EXPECT_GT(distance(other), near);
}

/// What a picture of rows of pixels has at (x + dx, y + dy), round its borders.
std::vector<uint8_t> rolled(const std::vector<uint8_t>& pixels, int width, int height, int dx, int dy) {
  std::vector<uint8_t> result;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        result.push_back(pixels[static_cast<size_t>(((y + dy) % height * width + (x + dx) % width) * 3 + c)]);
  return result;
}

// A seamless picture has no place where it begins: rolled noise paints the rolled picture.
TEST_F(Workflow, SeamlessPicturesHaveNoBorder) {
  Request r = demo("a red house");
  r.circular_x = r.circular_y = true;
  const LoadedModel loaded = load_model(r);
  Latent latent =
      noise_like(*find_noise_source("cpu").make(1), zero_latent(loaded.model->latent_format().channels, 8, 8));
  const auto decoded = [&](const Latent& z) { return decode({*loaded.model, cpu, r, DType::kF32, ignore}, z); };
  const auto half = [](const Latent& z) {
    Latent result = z;
    for (int c = 0; c < z.channels; ++c)
      for (int y = 0; y < 8; ++y)
        for (int x = 0; x < 8; ++x)
          result.values[static_cast<size_t>((c * 8 + y) * 8 + x)] =
              z.values[static_cast<size_t>((c * 8 + (y + 4) % 8) * 8 + (x + 4) % 8)];
    return result;
  };
  const int side = 8 * loaded.model->latent_format().scale;
  const auto picture = rolled(decoded(latent), side, side, side / 2, side / 2), shifted = decoded(half(latent));
  int largest = 0;
  for (size_t i = 0; i < picture.size(); ++i) largest = std::max(largest, std::abs(picture[i] - shifted[i]));
  EXPECT_LE(largest, 1) << "sums in another order";
  r.circular_x = r.circular_y = false;
  const auto plain = rolled(decoded(latent), side, side, side / 2, side / 2), plain_shifted = decoded(half(latent));
  largest = 0;
  for (size_t i = 0; i < plain.size(); ++i) largest = std::max(largest, std::abs(plain[i] - plain_shifted[i]));
  EXPECT_GT(largest, 10) << "which it does not without";
}

// Where the borders meet, the picture goes on as it does elsewhere.
TEST_F(Workflow, SeamlessPicturesOfTheDemoClose) {
  const auto engine = make_engine({});
  Request r = demo("a green hill under a yellow sun");
  r.width = r.height = 96;
  r.steps = 8;
  const auto step_at = [](const std::vector<uint8_t>& pixels, int x) {  // from column x to the next, round the border
    double sum = 0;
    for (int y = 0; y < 96; ++y)
      for (int c = 0; c < 3; ++c)
        sum += std::abs(pixels[static_cast<size_t>((y * 96 + x) * 3 + c)] -
                        pixels[static_cast<size_t>((y * 96 + (x + 1) % 96) * 3 + c)]);
    return sum;
  };
  const auto seam = [&](const std::vector<uint8_t>& pixels) {
    double most = 0;
    for (int x = 0; x < 95; ++x) most = std::max(most, step_at(pixels, x));
    return step_at(pixels, 95) / most;
  };
  const double open = seam(painted(*engine, r));
  r.circular_x = true;
  const double closed = seam(painted(*engine, r));
  EXPECT_LT(closed, 1.0) << "the seam is no harder than the hardest edge inside";
  EXPECT_LT(closed, open);
  EXPECT_THAT(engine->plan(r).text, HasSubstr("decode"));
}

TEST_F(Workflow, ModelsThatTellPlacesApartAreNotSeamless) {
  Request r = tiny();
  r.model = GESSO_TEST_DATA "/golden/tiny_flux1.safetensors";
  r.clip_l = GESSO_TEST_DATA "/golden/tiny_sdxl.safetensors";
  r.circular_y = true;
  EXPECT_THAT([&] { (void)make_engine({})->plan(r); }, ::testing::ThrowsMessage<Error>(HasSubstr("seamless")));
}

}  // namespace
}  // namespace gesso
