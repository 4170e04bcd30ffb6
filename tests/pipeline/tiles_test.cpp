// Tiles: that they cover a picture exactly once, and what they change of it.
#include "pipeline/tiles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "device/cpu/cpu_device.h"
#include "device/meta/meta_device.h"
#include "media/image.h"
#include "ops/ops.h"
#include "pipeline/engine.h"
#include "pipeline/latent_codec.h"
#include "pipeline/model_files.h"
#include "pipeline/stages.h"
#include "pipeline/tiling.h"
#include "temp_folder.h"

namespace gesso {
namespace {

struct Axis {
  int size, tile;
  double overlap;
};
const Axis kAxes[] = {{1, 8, 0.25},   {7, 8, 0.5},  {8, 8, 0},      {9, 8, 0},      {9, 8, 0.5},     {16, 8, 0},
                      {17, 8, 0.125}, {31, 8, 0.5}, {64, 32, 0.25}, {100, 33, 0.3}, {255, 16, 0.25}, {33, 0, 0.25}};

TEST(Tiles, WeightsOfEveryPointSumToOne) {
  for (const Axis& a : kAxes)
    for (const bool ring : {false, true})
      for (const int scale : {1, 3, 8}) {
        SCOPED_TRACE(
            fmt::format("{} in tiles of {}, overlap {}, ring {}, scale {}", a.size, a.tile, a.overlap, ring, scale));
        std::vector<double> sums(static_cast<size_t>(a.size * scale), 0);
        for (const AxisTile& tile : tiles_along(a.size, a.tile, a.overlap, ring, scale)) {
          ASSERT_EQ(tile.weights.size(), static_cast<size_t>(tile.size * scale));
          EXPECT_LE(tile.size, std::max(a.tile, a.size));
          EXPECT_GE(tile.begin, 0);
          if (!ring) {
            EXPECT_LE(tile.begin + tile.size, a.size);
          }
          for (size_t p = 0; p < tile.weights.size(); ++p) {
            EXPECT_GT(tile.weights[p], 0);
            sums[(static_cast<size_t>(tile.begin * scale) + p) % sums.size()] += tile.weights[p];
          }
        }
        for (const double sum : sums) EXPECT_NEAR(sum, 1, 1e-6);
      }
}

TEST(Tiles, NeighboursShareWhatWasAskedFor) {
  for (const Axis& a : kAxes) {
    const auto tiles = tiles_along(a.size, a.tile, a.overlap, false, 1);
    for (size_t i = 1; i < tiles.size(); ++i)
      EXPECT_GE(tiles[i - 1].begin + tiles[i - 1].size - tiles[i].begin, std::floor(a.tile * a.overlap)) << a.size;
    const auto ring = tiles_along(a.size, a.tile, a.overlap, true, 1);
    if (ring.size() > 1) {
      EXPECT_GE(ring.back().begin + ring.back().size - a.size, std::floor(a.tile * a.overlap)) << a.size;
    }
  }
}

TEST(Tiles, WhatIsNoLongerThanATileIsNotCut) {
  for (const bool ring : {false, true}) {
    EXPECT_EQ(tiles_along(8, 8, 0.25, ring, 1).size(), 1u);
    EXPECT_EQ(tiles_along(5, 8, 0.25, ring, 1).size(), 1u);
    EXPECT_EQ(tiles_along(500, 0, 0.25, ring, 1).size(), 1u);
    EXPECT_GT(tiles_along(9, 8, 0.25, ring, 1).size(), 1u);
  }
}

/// A model whose decoder enlarges the first three channels and whose encoder looks at every scale-th pixel, so that
/// tiles make no difference at all; or, with `blurs`, a decoder that looks at neighbours within one latent, around the
/// ring where the device wraps.
class Enlarger : public LatentDiffusion {
 public:
  explicit Enlarger(bool blurs = false) : blurs_(blurs) { format_.scale = 2; }
  const LatentFormat& latent_format() const override { return format_; }
  const Defaults& defaults() const override { return defaults_; }
  const Denoising& denoising() const override { return denoising_; }
  Conditioning encode(Device&, DType, std::string_view, const PromptOptions&) override { return {}; }
  std::vector<TextLength> measure(std::string_view, const PromptOptions&) const override { return {}; }
  std::string explain(std::string_view, const PromptOptions&) const override { return {}; }
  Tensor predict(const Tensor& x, float, const Tensor&, const Tensor&) override { return x; }
  Tensor decode(const Tensor& z) override {
    ++decoded;
    largest = std::max(largest, z.dim(1) * z.dim(2));
    Tensor x = columns(z, 0, 3);
    if (blurs_) {  // the mean of a pixel and its left and upper neighbours; zero beyond a border
      const Wrap wrap = z.device().wrap();
      const int64_t h = x.dim(1), w = x.dim(2);
      const std::vector<float> from = to_values(x);
      std::vector<float> to(from.size());
      for (int64_t i = 0; i < h; ++i)
        for (int64_t j = 0; j < w; ++j)
          for (int64_t k = 0; k < 3; ++k) {
            const auto at = [&](int64_t y, int64_t column) {
              if ((y < 0 && !wrap.y) || (column < 0 && !wrap.x)) return 0.f;
              return from[static_cast<size_t>((((y + h) % h) * w + (column + w) % w) * 3 + k)];
            };
            to[static_cast<size_t>((i * w + j) * 3 + k)] = (at(i, j) + at(i - 1, j) + at(i, j - 1)) / 3;
          }
      x = from_values(z.device(), to, x.shape());
    }
    return upsample_nearest(x, 2, 2 * x.dim(1), 2 * x.dim(2));
  }
  Tensor encode_picture(const Tensor& picture) override {
    const std::vector<float> from = to_values(picture);
    const int64_t h = picture.dim(1) / 2, w = picture.dim(2) / 2;
    std::vector<float> to;
    for (int64_t i = 0; i < h; ++i)
      for (int64_t j = 0; j < w; ++j)
        for (int64_t k = 0; k < 4; ++k) to.push_back(from[static_cast<size_t>((2 * i * 2 * w + 2 * j) * 3 + k % 3)]);
    return from_values(picture.device(), to, {1, h, w, 4});
  }
  std::vector<WeightStore*> text_weights() override { return {}; }
  WeightStore& denoiser_weights() override { return store_; }
  WeightStore* decoder_weights() override { return &store_; }
  int decoded = 0;
  int64_t largest = 0;

 private:
  bool blurs_;
  LatentFormat format_;
  Defaults defaults_;
  Denoising denoising_;
  WeightStore store_{"nothing"};
};

Latent tiled_latent(int height, int width) {
  Latent latent = zero_latent(4, height, width);
  for (size_t i = 0; i < latent.size(); ++i) latent.values[i] = std::sin(0.7f * static_cast<float>(i));
  return latent;
}

void expect_same(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-6) << i;
}

TEST(TiledCodec, ADecoderThatSeesNoNeighboursGivesTheSame) {
  CpuDevice cpu;
  for (const auto& [height, width] : {std::pair(20, 33), {5, 40}, {7, 7}, {8, 9}, {31, 8}})
    for (const Wrap wrap : {Wrap{}, Wrap{.x = true}, Wrap{.x = true, .y = true}}) {
      Enlarger model;
      model.largest = 0;
      const Wrapping wrapping(cpu, wrap);
      const Latent latent = tiled_latent(height, width);
      const LatentCodec whole(model), tiled = whole.with({8, 8, 0.25});
      const std::vector<float> expected = whole.decode(cpu, latent, DType::kF32);
      model.decoded = 0, model.largest = 0;
      int last = 0;
      const int count = tiled.tiles(wrap, width, height);
      expect_same(tiled.decode(cpu, latent, DType::kF32,
                               [&](int done, int all) {
                                 EXPECT_EQ(done, ++last);
                                 EXPECT_EQ(all, count);
                               }),
                  expected);
      EXPECT_EQ(model.decoded, count);
      EXPECT_LE(model.largest, 64);
      expect_same(tiled.encode(cpu, expected, 2 * width, 2 * height, DType::kF32).values,
                  whole.encode(cpu, expected, 2 * width, 2 * height, DType::kF32).values);
    }
}

TEST(TiledCodec, RingsCloseAcrossTiles) {
  CpuDevice cpu;
  Enlarger model(true);
  const Latent latent = tiled_latent(20, 24);
  const LatentCodec whole(model), tiled = whole.with({12, 12, 0.5});
  const auto seam = [&](const LatentCodec& codec, Wrap wrap) {  // of the first column, the part within
    const Wrapping wrapping(cpu, wrap);
    const std::vector<float> all = codec.decode(cpu, latent, DType::kF32);
    std::vector<float> column;
    for (int y = 4; y < 36; ++y) column.push_back(all[static_cast<size_t>(y * 48 * 3)]);
    return column;
  };
  const auto distance = [](const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += std::fabs(a[i] - b[i]);
    return sum / static_cast<double>(a.size());
  };
  const std::vector<float> closed = seam(whole, {.x = true}), open = seam(whole, {});
  EXPECT_GT(distance(open, closed), 0.1);  // so the test can tell
  // Only the first column of a tile lacks its neighbour, and little of it shows.
  EXPECT_LT(distance(seam(tiled, {.x = true}), closed), 0.1 * distance(open, closed));
  EXPECT_LT(distance(seam(tiled, {}), open), 0.1 * distance(open, closed));
}

TEST(Tiling, IsReadFromARequest) {
  Request r;
  EXPECT_EQ(tiling_of(r, 100, 80).width, 0);
  r.vae_tiling = true;
  EXPECT_EQ(tiling_of(r, 100, 80).width, 64);
  EXPECT_EQ(tiling_of(r, 100, 80).overlap, kTileOverlap);
  r.vae_tile_size = "40";
  EXPECT_EQ(tiling_of(r, 100, 80).height, 40);
  r.vae_tile_size = "40x0";
  EXPECT_EQ(tiling_of(r, 100, 80).width, 40);
  EXPECT_EQ(tiling_of(r, 100, 80).height, 0);
  r.vae_relative_tile_size = "0.5x1";
  EXPECT_EQ(tiling_of(r, 100, 80).width, 50);
  EXPECT_EQ(tiling_of(r, 100, 80).height, 80);
  r.vae_relative_tile_size = "3x2";
  for (const double overlap : {0.0, 0.25, 0.5}) {
    r.vae_tile_overlap = overlap;
    const Tiling tiling = tiling_of(r, 100, 80);
    EXPECT_EQ(tiles_along(100, tiling.width, tiling.overlap, false, 1).size(), 3u) << overlap;
    EXPECT_EQ(tiles_along(80, tiling.height, tiling.overlap, false, 1).size(), 2u) << overlap;
  }
}

TEST(Tiling, SizesOutOfRangeAreRefused) {
  for (const char* size : {"7", "4x64", "64x2000", "8.5", "-8", "axb", "64x", "x", "64x64x64", "nan", "1e9"})
    EXPECT_REFUSED(request_from_json({{"prompt", "a"}, {"vae_tile_size", size}}), ErrorCode::kUsage, "vae_tile_size");
  for (const char* size : {"-1", "2000", "0.5x", "inf", "half"})
    EXPECT_REFUSED(request_from_json({{"prompt", "a"}, {"vae_relative_tile_size", size}}), ErrorCode::kUsage,
                   "vae_relative_tile_size");
  EXPECT_REFUSED(request_from_json({{"prompt", "a"}, {"vae_tile_overlap", 0.6}}), ErrorCode::kUsage, "0 to 0.5");
}

struct TiledDemo : ::testing::Test {
  std::unique_ptr<Engine> engine = make_engine({});
  std::string said;
  EventSink sink = [this](const Event& e) { said += e.text + "\n"; };
  static Request demo(int width, int height) {
    Request r;
    r.model = GESSO_SOURCE_DIR "/models/demo/gesso-demo.safetensors";
    r.prompt = "a red house under a yellow sun";
    r.width = width;
    r.height = height;
    r.steps = 4;
    r.precision = "f32";
    return r;
  }
  static double psnr_of(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - b[i], 2);
    return 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.size()) / std::max(sum, 1e-9));
  }
};

// The group norms of the decoder see one tile at a time: that is what tiles change.
TEST_F(TiledDemo, ThePictureIsNearlyTheSame) {
  Request r = demo(384, 320);
  CpuDevice cpu;  // outlives what the model's weights keep on it
  const LoadedModel loaded = load_model(r);
  r.prediction = loaded.model->denoising().prediction;
  r.clip_skip = 1;
  r.cfg_scale = 4;
  r.guidance = 0;
  r.sampling_method = "euler";
  r.scheduler = "sgm_uniform";
  const Work work{*loaded.model, cpu, r, DType::kF32, sink};
  const Latent latent = denoise(work, encode_text(work), {}, Seeds(1));
  const auto bytes_in = [&](const Tiling& tiling) {
    std::vector<uint8_t> bytes;
    for (const float v : work.codec.with(tiling).decode(cpu, latent, DType::kF32))
      bytes.push_back(static_cast<uint8_t>(std::lround(std::clamp(v * 127.5f + 127.5f, 0.f, 255.f))));
    return bytes;
  };
  const std::vector<uint8_t> whole = bytes_in({});
  EXPECT_EQ(bytes_in({48, 40, kTileOverlap}), whole);  // no larger than a tile
  const double same = psnr_of(bytes_in({32, 32, kTileOverlap}), whole);
  RecordProperty("psnr", std::to_string(same));
  EXPECT_GT(same, 42);  // 47 was measured
  EXPECT_LT(same, 99);  // tiles it had
}

TEST_F(TiledDemo, EncodingInTilesPaintsNearlyTheSame) {
  CpuDevice cpu;  // outlives what the model's weights keep on it
  const LoadedModel loaded = load_model(demo(256, 256));
  std::vector<float> picture;
  for (int y = 0; y < 320; ++y)
    for (int x = 0; x < 384; ++x)
      for (int k = 0; k < 3; ++k) picture.push_back(std::sin(0.02f * static_cast<float>(x * (k + 1) + y)));
  const LatentCodec whole(*loaded.model);
  const Latent a = whole.encode(cpu, picture, 384, 320, DType::kF32);
  const Latent b = whole.with({32, 32, kTileOverlap}).encode(cpu, picture, 384, 320, DType::kF32);
  double error = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    error += std::pow(a.values[i] - b.values[i], 2);
    size += std::pow(a.values[i], 2);
  }
  RecordProperty("relative_error", std::to_string(std::sqrt(error / size)));
  EXPECT_LT(std::sqrt(error / size), 0.08);  // 0.054 was measured
  EXPECT_GT(error, 0);
}

TEST_F(TiledDemo, AreChosenWhereMemoryIsTooSmall) {
  Request r = demo(320, 320);
  r.steps = 1;
  const int64_t least = [&] {  // of the whole, with every weight streamed
    Request tight = r;
    tight.memory = 1;
    try {
      (void)engine->plan(tight);
    } catch (const Error&) {
    }
    int64_t low = 1, high = engine->plan(r).json.at("peak_bytes");
    while (high - low > (1 << 20)) {
      tight.memory = (low + high) / 2;
      try {
        const Plan plan = engine->plan(tight);
        (plan.json.contains("tile") ? low : high) = tight.memory;
      } catch (const Error&) {
        low = tight.memory;
      }
    }
    return high;
  }();
  r.memory = least;
  EXPECT_FALSE(engine->plan(r).json.contains("tile"));
  r.memory = least - (2 << 20);
  const Plan plan = engine->plan(r);
  ASSERT_TRUE(plan.json.contains("tile"));
  EXPECT_LE(plan.json.at("peak_bytes").get<int64_t>(), r.memory);
  EXPECT_NE(plan.text.find("tiles of"), plan.text.npos);
  said.clear();
  const GenerateResult result = engine->generate(r, sink, {});
  EXPECT_NE(said.find("the autoencoder works in tiles of"), said.npos);
  // and what it did can be repeated without the tight memory
  const Request again = parse_request(result.pictures[0].request_json);
  EXPECT_TRUE(again.vae_tiling);
  Request with_model = again;
  with_model.model = r.model;
  EXPECT_EQ(engine->generate(with_model, sink, {}).pictures[0].pixels, result.pictures[0].pixels);
}

TEST_F(TiledDemo, SizesWithoutTilingHaveNoEffectAndThatIsSaid) {
  Request r = demo(64, 64);
  r.steps = 1;
  r.vae_tile_size = "32x32";
  (void)engine->generate(r, sink, {});
  EXPECT_NE(said.find("no effect without vae_tiling"), said.npos);
}

}  // namespace
}  // namespace gesso
