#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/tensor_file.h"
#include "ops/ops.h"
#include "weights/weight_store.h"

namespace gesso {

/// A golden file: a tiny model under a checkpoint's names, and tensors "golden.<case>.<name>" of inputs and of what the
/// reference answers. See tests/data/golden/README.md.
class Golden {
 public:
  explicit Golden(const std::string& name)
      : file(open_tensor_file(std::string(GESSO_TEST_DATA "/golden/") + name + ".safetensors")) {}

  bool has(const std::string& name) const { return index("golden." + name) >= 0; }

  /// An input or answer as it is stored, on the device.
  Tensor tensor(Device& device, const std::string& name) const {
    const int i = index("golden." + name);
    EXPECT_GE(i, 0) << name;
    const TensorInfo& info = file->tensors()[static_cast<size_t>(i)];
    std::vector<float> values(static_cast<size_t>(info.shape.elements()));
    convert_to_f32(info.dtype, file->read(info).data(), values.data(), info.shape.elements());
    return from_values(device, values, info.shape);
  }

  std::vector<std::string> cases() const {
    std::set<std::string> names;
    for (const TensorInfo& t : file->tensors())
      if (t.name.starts_with("golden.")) names.insert(t.name.substr(7, t.name.find('.', 7) - 7));
    return {names.begin(), names.end()};
  }

  /// The tensors under a prefix, bound by the rest of their names.
  std::unique_ptr<WeightStore> store(const std::string& prefix) const {
    auto result = std::make_unique<WeightStore>("model");
    for (size_t i = 0; i < file->tensors().size(); ++i)
      if (const std::string& name = file->tensors()[i].name; name.starts_with(prefix))
        result->bind(name.substr(prefix.size()), {file, i});
    return result;
  }

  std::shared_ptr<const TensorFile> file;

 private:
  int index(const std::string& name) const {
    for (size_t i = 0; i < file->tensors().size(); ++i)
      if (file->tensors()[i].name == name) return static_cast<int>(i);
    return -1;
  }
};

/// The largest difference as a part of the reference's largest magnitude.
inline double relative_error(const Tensor& actual, const Tensor& expected) {
  EXPECT_EQ(to_string(actual.shape()), to_string(expected.shape()));
  if (!(actual.shape() == expected.shape())) return INFINITY;
  const std::vector<float> a = to_values(actual), b = to_values(expected);
  double scale = 0, error = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    scale = std::max(scale, std::fabs(static_cast<double>(b[i])));
    const double difference = std::fabs(static_cast<double>(a[i]) - b[i]);
    error = difference <= error ? error : difference;  // keeps NaN
  }
  return error / scale;
}

/// The root mean square of the difference as a part of that of the reference.
inline double rms_error(const Tensor& actual, const Tensor& expected) {
  EXPECT_EQ(to_string(actual.shape()), to_string(expected.shape()));
  if (!(actual.shape() == expected.shape())) return INFINITY;
  const std::vector<float> a = to_values(actual), b = to_values(expected);
  double scale = 0, error = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    scale += static_cast<double>(b[i]) * b[i];
    error += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
  }
  return std::sqrt(error / scale);
}

/// relative_error of f32 against f32: differences of summation order only.
inline constexpr double kF32Bound = 1e-4;
/// rms_error of bf16 against f32. bf16 rounds to 8 bits (relative error up to 2^-9) after each of some hundred
/// operations; independent errors add to about 2^-9 sqrt(200) = 0.03.
inline constexpr double kBF16Bound = 3e-2;

}  // namespace gesso
