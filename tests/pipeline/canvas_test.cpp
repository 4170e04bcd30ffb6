#include "pipeline/canvas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "media/codec.h"
#include "pipeline/engine.h"
#include "temp_folder.h"

namespace gesso {
namespace {

using ::testing::HasSubstr;

/// A picture in which every pixel tells where it is: red goes across, green goes down.
Image gradient(int width, int height) {
  Image image{width, height, 3, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (const int v : {x * 255 / width, y * 255 / height, 90}) image.pixels.push_back(static_cast<uint8_t>(v));
  return image;
}

/// White from (x, y) to (x2, y2), which it does not contain.
Image mask(int width, int height, int x, int y, int x2, int y2) {
  Image image{width, height, 1, std::vector<uint8_t>(static_cast<size_t>(width * height))};
  for (int i = y; i < y2; ++i)
    for (int j = x; j < x2; ++j) image.pixels[static_cast<size_t>(i * width + j)] = 255;
  return image;
}

Request sized(int width, int height) {
  Request r;
  r.prompt = "x";
  r.width = width;
  r.height = height;
  return r;
}

const uint8_t* pixel(const Image& image, int x, int y) {
  return image.pixels.data() + 3 * (y * image.width + x);
}

TEST(Canvas, FillCutsFitRepeatsTheBorderStretchDistorts) {
  const InputPictures inputs{gradient(200, 100), {}};
  Request r = sized(96, 96);
  const Image fill = make_canvas(inputs, r).picture;
  EXPECT_NEAR(pixel(fill, 0, 0)[0], 255 / 4, 4) << "a quarter is cut off on either side";
  EXPECT_NEAR(pixel(fill, 95, 95)[0], 255 * 3 / 4, 4);
  r.resize_mode = "fit";
  const Image fit = make_canvas(inputs, r).picture;
  EXPECT_NEAR(pixel(fit, 0, 0)[0], 0, 4);
  EXPECT_EQ(pixel(fit, 50, 0)[1], pixel(fit, 50, 20)[1]) << "the upper border goes on";
  r.resize_mode = "stretch";
  const Image stretch = make_canvas(inputs, r).picture;
  EXPECT_NEAR(pixel(stretch, 48, 48)[0], 127, 4);
  EXPECT_NEAR(pixel(stretch, 48, 95)[1], 252, 4);
  for (const Image& image : {fill, fit, stretch}) EXPECT_EQ(image.width, 96);
}

TEST(Canvas, NothingOutsideOfTheMaskChanges) {
  const InputPictures inputs{gradient(64, 64), mask(64, 64, 20, 24, 40, 50)};
  for (const int blur : {0, 1, 4, 40}) {
    Request r = sized(64, 64);
    r.mask_blur = blur;
    const Canvas canvas = make_canvas(inputs, r);
    const Image black{64, 64, 3, std::vector<uint8_t>(64 * 64 * 3)};
    const Image result = on_canvas(canvas, black);
    int changed = 0;
    for (int y = 0; y < 64; ++y)
      for (int x = 0; x < 64; ++x) {
        const bool inside = x >= 20 && x < 40 && y >= 24 && y < 50;
        const bool same = std::equal(pixel(result, x, y), pixel(result, x, y) + 3, pixel(*inputs.init, x, y));
        EXPECT_TRUE(inside || same) << x << ' ' << y << " blur " << blur;
        changed += !same;
      }
    if (blur == 0) {
      EXPECT_EQ(changed, 20 * 26);
    } else if (blur == 4) {
      EXPECT_EQ(pixel(result, 30, 37)[0], 0) << "the middle is all new";
      EXPECT_GT(changed, 16 * 22);
    }
  }
}

TEST(Canvas, TheMasksSurroundingsAloneArePaintedAtFullSize) {
  const InputPictures inputs{gradient(400, 300), mask(400, 300, 300, 100, 340, 120)};
  Request r = sized(128, 128);
  r.inpaint_area = "masked";
  r.inpaint_padding = 10;
  const Canvas canvas = make_canvas(inputs, r);
  EXPECT_EQ(canvas.picture.width, 128);
  EXPECT_EQ(canvas.base.width, 400) << "the picture keeps its size";
  EXPECT_NEAR(canvas.width, 60, 1);
  EXPECT_NEAR(canvas.height, 60, 1) << "widened to the proportions of the request";
  EXPECT_NEAR(canvas.x, 290, 1);
  EXPECT_NEAR(canvas.y, 80, 1);
  const Image result = on_canvas(canvas, Image{128, 128, 3, std::vector<uint8_t>(128 * 128 * 3, 255)});
  EXPECT_EQ(result.width, 400);
  EXPECT_EQ(pixel(result, 320, 110)[0], 255);
  EXPECT_EQ(pixel(result, 295, 110)[0], pixel(*inputs.init, 295, 110)[0]) << "padding is looked at, not painted";
}

TEST(Canvas, AMaskInACornerKeepsThePartWithinThePicture) {
  const InputPictures inputs{gradient(90, 300), mask(90, 300, 80, 0, 90, 10)};
  Request r = sized(512, 64);  // wider than the picture can give
  r.inpaint_area = "masked";
  const Canvas canvas = make_canvas(inputs, r);
  EXPECT_GE(canvas.x, 0);
  EXPECT_GE(canvas.y, 0);
  EXPECT_LE(canvas.x + canvas.width, 90);
  EXPECT_LE(canvas.y + canvas.height, 300);
  const Image result = on_canvas(canvas, Image{512, 64, 3, std::vector<uint8_t>(512 * 64 * 3)});
  EXPECT_EQ(result.height, 300);
}

TEST(Canvas, AnInvertedMaskPaintsTheRestAndAnEmptyOneIsRefused) {
  InputPictures inputs{gradient(64, 64), mask(64, 64, 0, 0, 64, 32)};
  Request r = sized(64, 64);
  r.mask_invert = true;
  const Canvas canvas = make_canvas(inputs, r);
  EXPECT_EQ(canvas.mask[0], 0);
  EXPECT_EQ(canvas.mask.back(), 1);
  inputs.mask = mask(64, 64, 0, 0, 0, 0);
  r.mask_invert = false;
  EXPECT_REFUSED(static_cast<void>(make_canvas(inputs, r)), ErrorCode::kUsage, "nothing to paint");
}

struct InputFiles : ::testing::Test {
  testing::TempFolder folder;
  std::string put(const char* name, const Image& image) { return testing::put(folder / name, encode_png(image)); }
};

TEST_F(InputFiles, OfAMaskTheTransparentPartMayCount) {
  Request r;
  r.init_image = r.mask_image = put("mask.png", {2, 1, 4, {255, 255, 255, 255, 0, 0, 0, 55}});
  EXPECT_EQ(load_input_pictures(r).mask->pixels, (std::vector<uint8_t>{255, 0}));
  r.mask_channel = "alpha";
  EXPECT_EQ(load_input_pictures(r).mask->pixels, (std::vector<uint8_t>{0, 200}));
  r.mask_image = put("opaque.png", {2, 1, 3, {255, 255, 255, 0, 0, 0}});
  EXPECT_REFUSED(static_cast<void>(load_input_pictures(r)), ErrorCode::kUsage, "no transparent part");
}

TEST_F(InputFiles, PicturesAreReadOfEveryKindAndMasksByTheirLightness) {
  Request r = sized(64, 64);
  r.init_image = put("rgba.png", {1, 1, 4, {255, 0, 0, 0}});
  r.mask_image = put("mask.png", {1, 1, 4, {255, 255, 255, 0}});
  const InputPictures inputs = load_input_pictures(r);
  EXPECT_EQ(inputs.init->pixels, (std::vector<uint8_t>{255, 255, 255})) << "alpha over white";
  EXPECT_EQ(inputs.mask->pixels, std::vector<uint8_t>{0}) << "alpha over black";
}

TEST_F(InputFiles, OutpaintingMakesRoomAndAMask) {
  Request r = sized(64, 64);
  r.init_image = put("init.png", gradient(40, 30));
  r.outpaint_left = 8;
  r.outpaint_bottom = 5;
  for (const bool invert : {false, true}) {
    r.mask_invert = invert;
    const InputPictures inputs = load_input_pictures(r);
    ASSERT_EQ(inputs.init->width, 48);
    ASSERT_EQ(inputs.init->height, 35);
    const Image init = gradient(40, 30);
    for (int y = 0; y < 35; ++y)
      for (int x = 0; x < 48; ++x) {
        const bool inside = x >= 8 && y < 30;
        EXPECT_EQ(inputs.mask->pixels[static_cast<size_t>(y * 48 + x)] != 0, inside == invert);
        const uint8_t* wanted = pixel(init, std::max(x - 8, 0), std::min(y, 29));
        EXPECT_TRUE(std::equal(wanted, wanted + 3, pixel(*inputs.init, x, y))) << x << ' ' << y;
      }
  }
  r.mask_invert = false;
  r.mask_image = put("mask.png", mask(40, 30, 0, 0, 10, 10));
  const InputPictures both = load_input_pictures(r);
  EXPECT_EQ(both.mask->pixels[0], 255);
  EXPECT_EQ(both.mask->pixels[10], 255) << "the mask's own part";
  EXPECT_EQ(both.mask->pixels[20], 0);
  r.outpaint_right = 4096;
  r.outpaint_left = 4096;
  r.init_image = put("wide.png", gradient(9000, 10));
  r.mask_image.clear();
  EXPECT_REFUSED(static_cast<void>(load_input_pictures(r)), ErrorCode::kUnsupported, "border");
  r.init_image.clear();
  EXPECT_REFUSED(static_cast<void>(load_input_pictures(r)), ErrorCode::kUsage, "--init-img");
}

TEST_F(InputFiles, TheDemoContinuesAPicture) {
  const auto engine = make_engine({});
  const EventSink ignore = [](const Event&) {};
  Request r = sized(64, 64);
  r.prompt = "a green hill under a yellow sun";
  r.model = GESSO_SOURCE_DIR "/models/demo/gesso-demo.safetensors";
  r.steps = 4;
  const Image first{64, 64, 3, engine->generate(r, ignore, {}).pictures[0].pixels};
  r.init_image = put("first.png", first);
  r.width = r.height = std::nullopt;
  r.outpaint_right = 32;
  const GenerateResult result = engine->generate(r, ignore, {});
  const Picture& wide = result.pictures[0];
  EXPECT_EQ(result.resolved.strength, 1);
  ASSERT_EQ(wide.width, 96);
  ASSERT_EQ(wide.height, 64);
  double variation = 0, stripes = 0;
  for (int y = 0; y < 64; ++y)
    for (int x = 0; x < 96; ++x)
      for (int c = 0; c < 3; ++c) {
        const int value = wide.pixels[static_cast<size_t>((y * 96 + x) * 3 + c)];
        if (x < 64) {
          EXPECT_EQ(value, pixel(first, x, y)[c]) << x << ' ' << y;
        }
        if (x > 70) variation += std::abs(value - wide.pixels[static_cast<size_t>((y * 96 + x - 1) * 3 + c)]);
        if (x > 70) stripes += std::abs(value - pixel(first, 63, y)[c]);
      }
  EXPECT_GT(variation / (64 * 25 * 3), 0.3) << "a picture, not one colour";
  EXPECT_GT(stripes / (64 * 25 * 3), 1) << "nor the border repeated";
}

TEST_F(InputFiles, WhatDoesNotFitIsRefusedWithItsReason) {
  Request r = sized(64, 64);
  r.mask_image = put("mask.png", mask(50, 50, 0, 0, 9, 9));
  EXPECT_REFUSED(static_cast<void>(load_input_pictures(r)), ErrorCode::kUsage, "--init-img");
  r.init_image = put("init.png", gradient(100, 50));
  EXPECT_REFUSED(static_cast<void>(load_input_pictures(r)), ErrorCode::kUsage, "50 x 50");
  r.init_image = (folder / "nothing.png").string();
  EXPECT_REFUSED(static_cast<void>(load_input_pictures(r)), ErrorCode::kNotFound, "nothing.png");
  r.init_image = testing::put(folder / "text.png", "no picture").string();
  EXPECT_REFUSED(static_cast<void>(load_input_pictures(r)), ErrorCode::kBadFile, "text.png");
}

TEST_F(InputFiles, TheDemoPaintsOverItsOwnPicture) {
  const auto engine = make_engine({});
  const EventSink ignore = [](const Event&) {};
  Request r = sized(64, 64);
  r.model = GESSO_SOURCE_DIR "/models/demo/gesso-demo.safetensors";
  r.steps = 2;
  const Picture first = engine->generate(r, ignore, {}).pictures[0];
  const Image image{64, 64, 3, first.pixels};
  r.init_image = put("first.png", image);
  r.mask_image = put("mask.png", mask(64, 64, 0, 0, 32, 64));
  r.width = r.height = std::nullopt;  // as the picture has them
  r.seed = 7;
  const GenerateResult result = engine->generate(r, ignore, {});
  ASSERT_EQ(result.pictures[0].width, 64);
  int inside = 0, outside = 0;
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    const bool changed = result.pictures[0].pixels[i] != image.pixels[i];
    (i / 3 % 64 < 32 ? inside : outside) += changed;
  }
  EXPECT_GT(inside, 1000);
  EXPECT_EQ(outside, 0);
  EXPECT_THAT(result.pictures[0].parameters, HasSubstr("Denoising strength: 0.75"));
  EXPECT_THAT(result.pictures[0].request_json, HasSubstr("\"init_image\":\"first.png\""));
  EXPECT_THAT(engine->plan(r).text, HasSubstr("encode"));

  // Strength 0 takes the picture through the autoencoder and no further: only a little is lost.
  r.mask_image.clear();
  r.strength = 0;
  const Picture kept = engine->generate(r, ignore, {}).pictures[0];
  double difference = 0;
  for (size_t i = 0; i < image.pixels.size(); ++i) difference += std::abs(kept.pixels[i] - image.pixels[i]);
  EXPECT_LT(difference / static_cast<double>(image.pixels.size()), 12);
}

TEST_F(InputFiles, OpenSizesFollowThePictureWithinReason) {
  const auto engine = make_engine({});
  Request r;
  r.prompt = "x";
  r.model = GESSO_SOURCE_DIR "/models/demo/gesso-demo.safetensors";  // 192 x 192
  r.init_image = put("wide.png", gradient(1000, 500));
  const auto size = [&] {
    const auto request = engine->plan(r).json["request"];
    return std::pair<int, int>(request["width"], request["height"]);
  };
  const auto [width, height] = size();
  EXPECT_EQ(width, 2 * height) << "the proportions stay";
  EXPECT_LE(width * height, 2 * 192 * 192 * 1.1);
  r.height = 96;
  EXPECT_EQ(size(), std::pair(192, 96));
}

}  // namespace
}  // namespace gesso
