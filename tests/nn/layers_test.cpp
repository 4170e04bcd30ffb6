#include "nn/layers.h"

#include <numeric>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "support/golden.h"
#include "temp_folder.h"

namespace gesso {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Parameters with the values 0, 0.1, 0.2, ... in a file of their own.
struct Layers : ::testing::Test {
  testing::TempFolder folder;
  CpuDevice cpu;

  std::unique_ptr<WeightStore> store(const std::vector<std::pair<std::string, Shape>>& parameters) {
    std::string header, data;
    for (const auto& [name, shape] : parameters) {
      const size_t begin = data.size();
      for (int64_t i = 0; i < shape.elements(); ++i) {
        const float value = 0.1f * static_cast<float>(i);
        data.append(reinterpret_cast<const char*>(&value), sizeof value);
      }
      header += (header.empty() ? "{" : ",") +
                ("\"" + name + "\":{\"dtype\":\"F32\",\"shape\":" + to_string(shape) + ",\"data_offsets\":[" +
                 std::to_string(begin) + ",") +
                std::to_string(data.size()) + "]}";
    }
    const auto file =
        open_tensor_file(testing::put(folder / "w.safetensors", testing::safetensors(header + "}", data)));
    auto result = std::make_unique<WeightStore>("model");
    for (size_t i = 0; i < file->tensors().size(); ++i) result->bind(file->tensors()[i].name, {file, i});
    return result;
  }
};

TEST_F(Layers, LinearBindsItsParametersAndComputes) {
  const auto w = store({{"to_q.weight", {2, 3}}, {"to_q.bias", {2}}});
  const nn::Linear layer(WeightScope(*w) / "to_q", 3, 2);
  EXPECT_THAT(w->unused(), ::testing::IsEmpty());
  const std::vector<float> y = to_values(layer(from_values(cpu, std::vector<float>{1, 2, 3}, {1, 3})));
  ASSERT_EQ(y.size(), 2u);
  EXPECT_NEAR(y[0], 0.1 * 2 + 0.2 * 3, 1e-6);
  EXPECT_NEAR(y[1], 0.3 * 1 + 0.4 * 2 + 0.5 * 3 + 0.1, 1e-6);
}

TEST_F(Layers, LinearWithoutBiasLeavesOneUnused) {
  const auto w = store({{"to_q.weight", {2, 3}}, {"to_q.bias", {2}}});
  const nn::Linear layer(WeightScope(*w) / "to_q", 3, 2, false);
  EXPECT_FALSE(layer.bias);
  EXPECT_THAT(w->unused(), ::testing::ElementsAre("to_q.bias"));
}

TEST_F(Layers, WrongShapesNameTensorFileAndBothShapes) {
  const auto w = store({{"to_q.weight", {2, 3}}, {"to_q.bias", {2}}});
  EXPECT_THAT([&] { nn::Linear(WeightScope(*w) / "to_q", 4, 2); },
              ThrowsMessage<Error>(AllOf(HasSubstr("to_q.weight"), HasSubstr("w.safetensors"), HasSubstr("[2, 3]"),
                                         HasSubstr("[2, 4]"))));
  EXPECT_THAT([&] { nn::LayerNorm(WeightScope(*w) / "norm", 2); }, ThrowsMessage<Error>(HasSubstr("norm.weight")));
  EXPECT_THAT([&] { nn::GroupNorm(WeightScope(*w) / "to_q", 2, 1, 1e-5f); },
              ThrowsMessage<Error>(HasSubstr("to_q.weight")));
}

TEST_F(Layers, ConvolutionKeepsTheSizeOfThePicture) {
  const auto w = store({{"conv.weight", {2, 1, 3, 3}}, {"conv.bias", {2}}});
  const nn::Conv2d layer(WeightScope(*w) / "conv", 1, 2, 3);
  const Tensor y = layer(from_values(cpu, std::vector<float>(20, 1.f), {1, 4, 5, 1}));
  EXPECT_EQ(y.shape(), (Shape{1, 4, 5, 2}));
  const std::vector<float> values = to_values(y);
  // In the middle all nine weights count: 0 ... 0.8, then 0.9 ... 1.7 and the bias 0.1.
  const size_t middle = (1 * 5 + 1) * 2;
  EXPECT_NEAR(values[middle], 3.6, 1e-5);
  EXPECT_NEAR(values[middle + 1], 11.8, 1e-5);
  EXPECT_NEAR(values[0], 0.4 + 0.5 + 0.7 + 0.8, 1e-5) << "a corner sees four";
}

TEST_F(Layers, NormsTakeTheirEpsilonAndActivation) {
  const auto w = store({{"norm.weight", {4}}, {"norm.bias", {4}}});
  const Tensor x = from_values(cpu, std::vector<float>{1, -1, 1, -1}, {1, 1, 1, 4});
  // Mean 0, variance 1: with epsilon 3 each value is halved.
  const std::vector<float> layer = to_values(nn::LayerNorm(WeightScope(*w) / "norm", 4, 3.f)(x));
  EXPECT_NEAR(layer[1], -0.5 * 0.1 + 0.1, 1e-6);
  EXPECT_NEAR(layer[3], -0.5 * 0.3 + 0.3, 1e-6);
  const std::vector<float> group = to_values(nn::GroupNorm(WeightScope(*w) / "norm", 4, 2, 3.f, Activation::kSilu)(x));
  const double before = 0.5 * 0.2 + 0.2;
  EXPECT_NEAR(group[2], before / (1 + std::exp(-before)), 1e-6);
}

}  // namespace
}  // namespace gesso
