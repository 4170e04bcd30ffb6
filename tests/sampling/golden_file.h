#pragma once
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/tensor_file.h"
#include "sampling/latent.h"

namespace gesso {

/// The tensors "golden.<name>" of a file of tests/data/golden, as values; f32 only.
class GoldenFile {
 public:
  explicit GoldenFile(const std::string& file) {
    const auto opened = open_tensor_file(std::string(GESSO_TEST_DATA "/golden/") + file + ".safetensors");
    for (const TensorInfo& tensor : opened->tensors()) {
      const auto bytes = opened->read(tensor);
      std::vector<float>& values = values_[tensor.name.substr(tensor.name.find('.') + 1)];
      values.resize(bytes.size() / sizeof(float));
      std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    }
  }
  const std::map<std::string, std::vector<float>>& all() const { return values_; }
  const std::vector<float>& at(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) fail(ErrorCode::kNotFound, "no golden {}", name);
    return found->second;
  }
  std::vector<double> doubles(const std::string& name) const {
    const std::vector<float>& values = at(name);
    return {values.begin(), values.end()};
  }

 private:
  std::map<std::string, std::vector<float>> values_;
};

}  // namespace gesso
