// The networks of upscalers, as they are found in files of every naming, against the reference.
#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/meta/meta_device.h"
#include "models/named_store.h"
#include "models/names/esrgan.h"
#include "models/registry.h"
#include "support/golden.h"

namespace gesso {
namespace {

std::shared_ptr<const TensorFile> upscaler_file(const std::string& name) {
  return open_tensor_file(std::string(GESSO_TEST_DATA "/golden/") + name);
}

std::unique_ptr<UpscaleNetwork> upscaler_in(const std::shared_ptr<const TensorFile>& file) {
  const Recognition found = recognise(file->tensors(), file->metadata());
  const Component* component = found.find(Role::kUpscaler);
  if (!component) return nullptr;
  EXPECT_EQ(component->complete, true);
  EXPECT_TRUE(component->supported);
  const std::unique_ptr<WeightStore> store = named_store(file, Role::kUpscaler);
  auto network = component->kind->make_upscaler(WeightScope(*store));
  EXPECT_THAT(store->unused(), ::testing::IsEmpty());
  return network;
}

struct UpscalerCase {
  const char *golden, *weights, *scheme, *variant;
  int scale, unit, reach;
};

class Upscalers : public ::testing::TestWithParam<UpscalerCase> {
 protected:
  CpuDevice cpu;
  const Golden golden{GetParam().golden};
  const std::shared_ptr<const TensorFile> file = upscaler_file(GetParam().weights);
  const std::unique_ptr<UpscaleNetwork> network = upscaler_in(file);

  Tensor run(DType dtype) {
    return to_channels_first((*network)(to_channels_last(golden.tensor(cpu, "case.x")), dtype));
  }
};

TEST_P(Upscalers, AreRecognised) {
  const Recognition found = recognise(file->tensors(), file->metadata());
  const Component& component = *found.find(Role::kUpscaler);
  EXPECT_EQ(component.scheme, GetParam().scheme);
  EXPECT_EQ(component.variant, GetParam().variant);
  EXPECT_EQ(network->scale(), GetParam().scale);
  EXPECT_EQ(network->unit(), GetParam().unit);
  EXPECT_EQ(network->reach(), GetParam().reach);
}

TEST_P(Upscalers, EqualTheReference) {
  EXPECT_LT(relative_error(run(DType::kF32), golden.tensor(cpu, "case.y")), kF32Bound);
}

TEST_P(Upscalers, ComeNearItInBf16) {
  if (!cpu.computes_bf16()) GTEST_SKIP() << "bf16 takes AVX-512";
  EXPECT_LT(rms_error(run(DType::kBF16), golden.tensor(cpu, "case.y")), kBF16Bound);
}

TEST_P(Upscalers, SeeNoFurtherThanTheyReach) {
  const int64_t unit = network->unit(), side = 2 * network->reach() / unit * unit + 2 * unit;
  std::vector<float> values(static_cast<size_t>(3 * side * side), 0.5f);
  const auto rendered = [&] {
    return to_values((*network)(from_values(cpu, values, {1, side, side, 3}), DType::kF32));
  };
  const std::vector<float> before = rendered();
  values[0] = 1;  // at the upper left
  const std::vector<float> after = rendered();
  int64_t furthest = 0;
  const int64_t scale = network->scale(), width = side * scale;
  for (size_t i = 0; i < after.size(); ++i)
    if (before[i] != after[i]) {
      const auto pixel = static_cast<int64_t>(i) / 3;
      furthest = std::max({furthest, pixel / width / scale, pixel % width / scale});
    }
  EXPECT_GT(furthest, 0);
  EXPECT_LE(furthest, network->reach());
}

TEST_P(Upscalers, AreKnownToTheMetaDevice) {
  MetaDevice meta;
  const int64_t unit = network->unit();
  const Tensor y = (*network)(meta.empty({1, 5 * unit, 7 * unit, 3}, DType::kF32), DType::kBF16);
  EXPECT_EQ(y.shape(), (Shape{1, 5 * unit * network->scale(), 7 * unit * network->scale(), 3}));
  EXPECT_GT(meta.flops(), 0);
  EXPECT_EQ(meta.weight_elements(), [&] {
    int64_t all = 0;
    for (const TensorInfo& t : file->tensors())
      if (!t.name.starts_with("golden.")) all += t.shape.elements();
    return all;
  }());
}

INSTANTIATE_TEST_SUITE_P(
    Goldens, Upscalers,
    ::testing::Values(UpscalerCase{"upscale_x4", "upscale_x4.safetensors", "Real-ESRGAN", "x4", 4, 1, 35},
                      UpscalerCase{"upscale_old", "upscale_old.safetensors", "ESRGAN", "x4", 4, 1, 20},
                      UpscalerCase{"upscale_x1", "upscale_x1.safetensors", "Real-ESRGAN", "x1", 1, 4, 80},
                      UpscalerCase{"upscale_x2", "upscale_x2.pth", "Real-ESRGAN", "x2", 2, 2, 40},
                      UpscalerCase{"upscale_compact", "upscale_compact.safetensors", "SRVGGNetCompact", "compact", 2, 1,
                                   4}),
    [](const auto& p) { return std::string(p.param.golden); });

// ---- names

using Tensors = std::vector<TensorInfo>;

void add_layer(Tensors& tensors, const std::string& name, const Shape& shape) {
  tensors.push_back({name + ".weight", DType::kF16, shape, 0, 0});
  tensors.push_back({name + ".bias", DType::kF16, {shape[0]}, 0, 0});
}

/// An RRDBNet of 2 blocks, 8 features and a growth of 4 in the first release's names.
Tensors old_names(int doublings) {
  Tensors tensors;
  add_layer(tensors, "model.0", {8, 3, 3, 3});
  for (const char* block : {"0", "1"})
    for (const char* dense : {"1", "2", "3"})
      for (int k = 0; k < 5; ++k)
        add_layer(tensors, fmt::format("model.1.sub.{}.RDB{}.conv{}.0", block, dense, k + 1),
                  {k < 4 ? 4 : 8, 8 + 4 * k, 3, 3});
  add_layer(tensors, "model.1.sub.2", {8, 8, 3, 3});
  for (int k = 1; k <= doublings; ++k) add_layer(tensors, fmt::format("model.{}", 3 * k), {8, 8, 3, 3});
  add_layer(tensors, fmt::format("model.{}", 3 * doublings + 2), {8, 8, 3, 3});
  add_layer(tensors, fmt::format("model.{}", 3 * doublings + 4), {3, 8, 3, 3});
  return tensors;
}

TEST(OldUpscalerNames, TellHowOftenTheyDouble) {
  for (const auto& [doublings, variant] : {std::pair(0, "x1"), {1, "x2"}, {2, "x4"}, {3, "x8"}}) {
    const Tensors tensors = old_names(doublings);
    const Recognition found = recognise(tensors, {});
    ASSERT_EQ(found.components.size(), 1u);
    EXPECT_EQ(found.components[0].variant, variant);
    EXPECT_EQ(found.components[0].complete, true);
    EXPECT_THAT(found.unknown, ::testing::IsEmpty());
    std::map<std::string, std::string> ours;
    for (const auto& [index, placement] : found.components[0].tensors) ours[tensors[index].name] = placement.name;
    EXPECT_EQ(ours["model.1.sub.1.RDB3.conv5.0.bias"], "body.1.rdb3.conv5.bias");
    EXPECT_EQ(ours["model.1.sub.2.weight"], "conv_body.weight");
    EXPECT_EQ(ours[fmt::format("model.{}.weight", 3 * doublings + 2)], "conv_hr.weight");
    EXPECT_EQ(ours[fmt::format("model.{}.bias", 3 * doublings + 4)], "conv_last.bias");
    if (doublings == 3) {
      EXPECT_EQ(ours["model.9.weight"], "conv_up3.weight");
    }
  }
}

std::vector<std::string> missing_without(Tensors tensors, const std::string& name) {
  EXPECT_EQ(std::erase_if(tensors, [&](const TensorInfo& t) { return t.name == name; }), 1u) << name;
  const Recognition found = recognise(tensors, {});
  return found.components.empty() ? std::vector<std::string>{"no component"} : found.components[0].missing;
}

TEST(UpscalerNames, WhatIsLostIsNamed) {
  using ::testing::ElementsAre;
  EXPECT_THAT(missing_without(old_names(2), "model.1.sub.1.RDB2.conv3.0.bias"), ElementsAre("body.1.rdb2.conv3.bias"));
  EXPECT_THAT(missing_without(old_names(2), "model.1.sub.2.weight"), ElementsAre("conv_body.weight"));
  EXPECT_THAT(missing_without(old_names(2), "model.8.weight"), ElementsAre("conv_hr.weight"));
  const Tensors x4 = upscaler_file("upscale_x4.safetensors")->tensors();
  EXPECT_THAT(missing_without(x4, "conv_up2.weight"), ElementsAre("conv_up2.weight"));
  EXPECT_THAT(missing_without(x4, "body.1.rdb3.conv5.weight"), ElementsAre("body.1.rdb3.conv5.weight"));
  const Tensors compact = upscaler_file("upscale_compact.safetensors")->tensors();
  EXPECT_THAT(missing_without(compact, "body.5.weight"), ElementsAre("slopes.2.weight"));
  Tensors shorter = compact;
  std::erase_if(shorter, [](const TensorInfo& t) { return t.name == "body.6.bias"; });
  EXPECT_THAT(missing_without(shorter, "body.6.weight"), ElementsAre("convs.3.weight"));
}

// ---- shapes that fit no network

/// A file of zeros.
class ZeroFile final : public TensorFile {
 public:
  explicit ZeroFile(Tensors tensors) : tensors_(std::move(tensors)) {}
  const std::filesystem::path& path() const override { return path_; }
  std::string_view format() const override { return "zeros"; }
  const Tensors& tensors() const override { return tensors_; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  std::span<const std::byte> read(const TensorInfo&) const override { return {}; }

 private:
  std::filesystem::path path_ = "zeros.pth";
  Tensors tensors_;
  std::map<std::string, std::string> metadata_;
};

void expect_refused(Tensors tensors, const std::string& name, const Shape& shape, ErrorCode code,
                    const std::string& text) {
  for (TensorInfo& t : tensors)
    if (t.name == name) t.shape = shape;
  try {
    (void)upscaler_in(std::make_shared<ZeroFile>(tensors));
    ADD_FAILURE() << "accepted: " << name << ' ' << to_string(shape);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), ::testing::HasSubstr(text));
  }
}

TEST(UpscalerShapes, ThatContradictEachOtherAreRefused) {
  const Tensors old = old_names(2);
  const auto bad = ErrorCode::kBadFile, unsupported = ErrorCode::kUnsupported;
  expect_refused(old, "model.0.weight", {8, 1, 3, 3}, unsupported, "1 channels");
  expect_refused(old, "model.10.weight", {1, 8, 3, 3}, unsupported, "1 channels");
  expect_refused(old, "model.0.weight", {9, 3, 3, 3}, bad, "model.0.bias");
  expect_refused(old, "model.1.sub.1.RDB2.conv3.0.weight", {4, 17, 3, 3}, bad, "body.1.rdb2.conv3.weight");
  expect_refused(old, "model.3.weight", {8, 8, 5, 5}, bad, "conv_up1.weight");
  expect_refused(old_names(1), "model.0.weight", {8, 48, 3, 3}, bad, "squares of 4");
  const Tensors compact = upscaler_file("upscale_compact.safetensors")->tensors();
  expect_refused(compact, "body.3.weight", {7}, bad, "slopes.1.weight");
  Tensors odd = compact;
  for (TensorInfo& t : odd)
    if (t.name == "body.6.bias") t.shape = {13};
  expect_refused(odd, "body.6.weight", {13, 6, 3, 3}, bad, "13 channels");
}

}  // namespace
}  // namespace gesso
