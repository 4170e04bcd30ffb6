// Pictures of latents that are not finished: what they show, and that they change nothing.
#include "pipeline/preview.h"

#include "media/resize.h"
#include "pipeline/model_files.h"
#include "pipeline/stages.h"
#include "support/golden.h"
#include "temp_folder.h"

namespace gesso {
namespace {

struct Previews : ::testing::Test {
  std::unique_ptr<Engine> engine = make_engine({});
  std::vector<Event> shown;
  std::string said;
  EventSink sink = [this](const Event& e) {
    said += e.text;
    if (e.kind == Event::Kind::kPreview) shown.push_back(e);
  };

  static Request house() {
    Request r;
    r.model = GESSO_SOURCE_DIR "/models/demo/gesso-demo.safetensors";
    r.prompt = "a red house under a yellow sun";
    r.width = r.height = 192;
    r.steps = 4;
    r.precision = "f32";
    return r;
  }
  static Request tiny(const char* preview) {
    Request r;
    r.model = GESSO_TEST_DATA "/golden/tiny_sd1.safetensors";
    r.taesd = GESSO_TEST_DATA "/golden/taesd.safetensors";
    r.taesd_preview_only = true;
    r.prompt = "a fox";
    r.width = 64;
    r.height = 80;
    r.steps = 6;
    r.preview = preview;
    return r;
  }
  Image painted(const Request& r) {
    shown.clear();
    Picture picture = engine->generate(r, sink, {}).pictures[0];
    return {picture.width, picture.height, picture.channels, std::move(picture.pixels)};
  }
};

/// Of `a`, brought to the size of `b`, in dB.
double psnr(const Image& a, const Image& b) {
  const Image same = a.width == b.width && a.height == b.height ? a : resized(a, b.width, b.height);
  double sum = 0;
  for (size_t i = 0; i < b.pixels.size(); ++i) sum += std::pow(static_cast<double>(same.pixels[i]) - b.pixels[i], 2);
  return 10 * std::log10(255 * 255 * static_cast<double>(b.pixels.size()) / std::max(sum, 1e-9));
}

TEST_F(Previews, ApproachThePicture) {
  struct Way {  // of showing
    const char* name;
    int side;
    double level;  // dB of the last one
  };
  const Image without = painted(house());
  // A projection has an eighth of the picture's pixels each way: 21 dB is what it was measured to show.
  for (const Way& way : {Way{"proj", 24, 18}, Way{"vae", 192, 60}}) {
    Request r = house();
    r.preview = way.name;
    const Image picture = painted(r);
    EXPECT_EQ(picture.pixels, without.pixels) << way.name;
    ASSERT_EQ(shown.size(), 4u);
    std::vector<double> likeness;
    for (const Event& e : shown) {
      EXPECT_EQ(e.stage, "denoise");
      EXPECT_EQ(e.steps, 4);
      ASSERT_EQ(e.preview->width, way.side);
      ASSERT_EQ(e.preview->height, way.side);
      ASSERT_NO_THROW(check_image(*e.preview));
      likeness.push_back(psnr(*e.preview, picture));
    }
    RecordProperty(std::string(way.name) + "_psnr", std::to_string(likeness.back()));
    EXPECT_GT(likeness.back(), way.level) << way.name;
    EXPECT_GT(likeness.back(), likeness.front()) << way.name;
  }
}

TEST_F(Previews, TheNoisyOneShowsTheNoise) {
  Request clean = house();
  clean.preview = "vae";
  clean.preview_interval = 2;
  const Image picture = painted(clean);
  const std::vector<Event> estimates = shown;
  Request noisy = clean;
  noisy.preview_noisy = true;
  EXPECT_EQ(painted(noisy).pixels, picture.pixels);
  ASSERT_EQ(shown.size(), 2u);
  EXPECT_EQ(shown[0].step, 2);
  EXPECT_LT(psnr(*shown[0].preview, picture), psnr(*estimates[0].preview, picture));
  EXPECT_EQ(shown[1].step, 4);
  EXPECT_GT(psnr(*shown[1].preview, picture), 60);  // no noise is left
}

TEST_F(Previews, ByATinyAutoencoderAreWhatItDecodes) {
  Request only = tiny("tae");
  const Image picture = painted(only);
  ASSERT_EQ(shown.size(), 6u);
  const Image last = *shown.back().preview;
  EXPECT_EQ(last.width, 64);
  EXPECT_EQ(last.height, 80);
  EXPECT_NE(last.pixels, picture.pixels);  // which the other autoencoder decodes
  Request all = tiny("tae");
  all.taesd_preview_only = false;
  EXPECT_GT(psnr(last, painted(all)), 40);
}

TEST_F(Previews, ChangeNothingHoweverLongWeightsAreKept) {
  Request r = tiny("vae");
  r.precision = "f32";
  r.steps = 2;
  Request without = r;
  without.preview = "none";
  const Image expected = painted(without);
  std::set<std::string> seen;
  for (auto budget = engine->plan(r).json.at("peak_bytes").get<int64_t>(); budget > 0; budget = budget / 10 * 8) {
    r.memory = budget;
    std::string residency;
    try {
      residency = engine->plan(r).json.at("residency");
    } catch (const Error&) {
      break;  // too little
    }
    if (!seen.insert(residency).second) continue;
    EXPECT_EQ(painted(r).pixels, expected.pixels) << residency;
    EXPECT_EQ(shown.size(), 2u) << residency;
  }
  EXPECT_TRUE(seen.contains("resident") && seen.size() > 1) << seen.size();
}

TEST_F(Previews, ArePlannedFor) {
  const auto stage = [&](const Request& r) {
    const Plan plan = engine->plan(r);
    for (const Json& each : plan.json.at("stages"))
      if (each.at("name") == "preview") return each;
    return Json();
  };
  Request r = tiny("vae");
  r.preview_interval = 4;  // of 6 steps, one
  r.batch_count = 3;
  EXPECT_EQ(stage(r).at("passes"), 3);
  const int64_t own = stage(r).at("weight_bytes");
  r.preview = "tae";
  EXPECT_LT(stage(r).at("weight_bytes"), own);
  r.preview = "proj";
  EXPECT_TRUE(stage(r).is_null());  // published for these latents
  r.preview = "none";
  EXPECT_TRUE(stage(r).is_null());
  Request fitted = house();
  fitted.preview = "proj";
  EXPECT_EQ(stage(fitted).at("passes"), 1);
  (void)painted(fitted);
  EXPECT_TRUE(stage(fitted).is_null());  // fitted already
}

TEST_F(Previews, WithoutWhatTheyTakeAreRefused) {
  Request r = house();
  r.preview = "tae";
  EXPECT_REFUSED(painted(r), ErrorCode::kUsage, "--taesd FILE");
  r = tiny("vae");
  r.taesd_preview_only = false;
  r.diffusion_model = r.clip_l = std::exchange(r.model, "");
  EXPECT_REFUSED(painted(r), ErrorCode::kNotFound, "--vae FILE");
  EXPECT_REFUSED(parse_request(R"({"prompt":"a","preview":"oil"})"), ErrorCode::kUsage, "none, proj, tae, vae");
  EXPECT_REFUSED(parse_request(R"({"prompt":"a","preview_interval":0})"), ErrorCode::kUsage, "from 1");
}

TEST_F(Previews, AreNoPartOfARecipe) {
  Request r = tiny("proj");
  r.preview_noisy = true;
  const Json recipe = Json::parse(engine->generate(r, sink, {}).pictures[0].request_json);
  for (const char* name : {"preview", "preview_interval", "preview_noisy"}) EXPECT_FALSE(recipe.contains(name)) << name;
}

TEST(Projection, FitsWhatIsLinear) {
  Latent latent = zero_latent(4, 5, 6);
  for (size_t i = 0; i < latent.size(); ++i)
    latent.values[i] = static_cast<float>(std::sin(7.0 * static_cast<double>(i * i)));
  const LatentProjection truth{{{0.1f, 0.2f, -0.3f}, {0.05f, -0.1f, 0.2f}, {0.1f, 0, 0}, {-0.2f, 0.1f, 0.1f}},
                               {0.2f, -0.1f, 0}};
  std::vector<float> picture(5 * 6 * 4 * 3);
  for (int y = 0; y < 10; ++y)
    for (int x = 0; x < 12; ++x)
      for (size_t k = 0; k < 3; ++k) {
        float sum = truth.bias[k];
        for (size_t c = 0; c < 4; ++c)
          sum += latent.values[c * 30 + static_cast<size_t>(y / 2 * 6 + x / 2)] * truth.factors[c][k];
        picture[static_cast<size_t>(y * 12 + x) * 3 + k] = sum;
      }
  const LatentProjection found = fit_projection(latent, picture, 2);
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(found.bias[k], truth.bias[k], 1e-4);
    for (size_t c = 0; c < 4; ++c) EXPECT_NEAR(found.factors[c][k], truth.factors[c][k], 1e-4);
  }
  const Image image = projected(truth, latent);
  EXPECT_EQ(image.width, 6);
  EXPECT_NEAR(image.pixels[3 * 13 + 1], 127.5 + 127.5 * picture[static_cast<size_t>(4 * 12 + 2) * 3 + 1], 0.51);
}

}  // namespace
}  // namespace gesso
