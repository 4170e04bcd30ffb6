#include "models/manifest.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace gesso {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(GESSO_TEST_DATA) / "manifests";

std::string gunzip(const std::filesystem::path& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.string().c_str(), "rb"), gzclose);
  if (!file) throw std::runtime_error("no manifest " + path.string());
  std::string text;
  char buffer[1 << 16];
  for (int count; (count = gzread(file.get(), buffer, sizeof buffer)) != 0;) {
    if (count < 0) throw std::runtime_error("damaged manifest " + path.string());
    text.append(buffer, static_cast<size_t>(count));
  }
  return text;
}

Shape shape_of(const nlohmann::json& dims) {
  constexpr int64_t kFreeRank = 8;  // the manifest leaves the rank of a LoRA open with -1
  std::vector<int64_t> extents;
  if (dims.is_array())
    for (const auto& dim : dims) extents.push_back(dim.get<int64_t>() < 0 ? kFreeRank : dim.get<int64_t>());
  return Shape(std::span<const int64_t>(extents));
}

}  // namespace

Manifest load_manifest(std::string_view name) {
  const auto json = nlohmann::ordered_json::parse(gunzip(kFolder / (std::string(name) + ".json.gz")));
  Manifest manifest{std::string(name), json.at("names_only"), json.at("complete"), {}, {}};
  const auto dtypes = json.value("dtypes", nlohmann::ordered_json::object());
  for (const auto& [tensor, dims] : json.at("tensors").items()) {
    const auto dtype = dtype_from_string(dtypes.value(tensor, "F16"));
    manifest.tensors.push_back({tensor, dtype.value_or(DType::kU8), shape_of(dims), 0, 0});
  }
  if (json.contains("metadata")) manifest.metadata = json["metadata"].get<std::map<std::string, std::string>>();
  return manifest;
}

std::vector<std::string> manifest_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".json.gz")) names.push_back(name.substr(0, name.size() - 8));
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Manifest, NamesShapesAndTypesAreRead) {
  const Manifest manifest = load_manifest("sd15-ldm");
  EXPECT_EQ(manifest.tensors.size(), 1131u);
  EXPECT_FALSE(manifest.names_only);
  EXPECT_GT(manifest_names().size(), 190u);
}

}  // namespace gesso
