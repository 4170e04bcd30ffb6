#include "io/shards.h"

#include <gtest/gtest.h>

#include "temp_folder.h"

namespace gesso {
namespace {

using testing::put;
using testing::safetensors;
using testing::TempFolder;

std::string shard(std::string_view tensor, std::string_view data, std::string_view meta = "{}") {
  return safetensors(fmt::format(R"({{"__metadata__":{},"{}":{{"dtype":"U8","shape":[{}],"data_offsets":[0,{}]}}}})",
                                 meta, tensor, data.size(), data.size()),
                     data);
}

std::string text(const TensorFile& file, size_t i) {
  const auto bytes = file.read(file.tensors().at(i));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Shards : public ::testing::Test {
 protected:
  void SetUp() override {
    put(folder / "m-1.safetensors", shard("a", "first", R"({"format":"pt"})"));
    put(folder / "m-2.safetensors", shard("b", "second", R"({"format":"np","more":"x"})"));
  }
  std::filesystem::path index(std::string_view map) {
    return put(folder / "m.safetensors.index.json",
               fmt::format(R"({{"metadata":{{"total_size":11}},"weight_map":{}}})", map));
  }
  TempFolder folder;
};

TEST_F(Shards, IndexMergesItsShards) {
  const auto path = index(R"({"a":"m-1.safetensors","b":"m-2.safetensors"})");
  for (const auto& named : {path, folder.path()}) {
    const auto file = open_tensor_files(named);
    ASSERT_EQ(file->tensors().size(), 2u);
    EXPECT_EQ(file->tensors()[1].name, "b");
    EXPECT_EQ(text(*file, 0), "first");
    EXPECT_EQ(text(*file, 1), "second");
    EXPECT_EQ(file->metadata().at("format"), "pt");
    EXPECT_EQ(file->metadata().at("more"), "x");
    EXPECT_EQ(file->path(), path);
  }
}

TEST_F(Shards, MissingShardsAreListed) {  // S17
  const auto path = index(R"({"a":"m-1.safetensors","b":"gone.safetensors","c":"lost.safetensors"})");
  EXPECT_REFUSED(open_tensor_files(path), ErrorCode::kNotFound,
                 "needs 3 shards, of which 2 are missing: 'gone.safetensors', 'lost.safetensors'");
}

TEST_F(Shards, ShardNamesStayInTheFolder) {  // S17
  for (const char* name :
       {"../m-1.safetensors", "/etc/passwd", "x/m.safetensors", "..", ".", "", "..\\\\m", "a\\u0000b"})
    EXPECT_REFUSED(open_tensor_files(index(fmt::format(R"({{"a":"{}"}})", name))), ErrorCode::kBadFile,
                   "not a plain file name");
}

TEST_F(Shards, KeysTwice) {  // S17
  EXPECT_REFUSED(open_tensor_files(index(R"({"a":"m-1.safetensors","a":"m-2.safetensors"})")), ErrorCode::kBadFile,
                 "'a' twice");
  put(folder / "m-2.safetensors", shard("a", "second"));
  EXPECT_EQ(text(*open_tensor_files(index(R"({"a":"m-1.safetensors"})")), 0), "first");
  put(folder / "m-3.safetensors", shard("c", "third"));
  const auto file = open_tensor_files(index(R"({"a":"m-2.safetensors","c":"m-3.safetensors"})"));
  EXPECT_EQ(text(*file, 0), "second");
}

TEST_F(Shards, TheMapDecidesBetweenTwoHolders) {
  put(folder / "m-2.safetensors",
      safetensors(
          R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
          "xy"));
  const auto file = open_tensor_files(index(R"({"a":"m-1.safetensors","b":"m-2.safetensors"})"));
  ASSERT_EQ(file->tensors().size(), 2u);
  EXPECT_EQ(text(*file, 0), "first");
  EXPECT_EQ(text(*file, 1), "y");
  std::vector<std::shared_ptr<const TensorFile>> both = {open_tensor_file(folder / "m-1.safetensors"),
                                                         open_tensor_file(folder / "m-2.safetensors")};
  EXPECT_REFUSED(merge_tensor_files("both", both), ErrorCode::kBadFile, "tensor 'a' is both in 'm-1.safetensors'");
}

TEST_F(Shards, TensorThatItsShardLacks) {
  EXPECT_REFUSED(open_tensor_files(index(R"({"a":"m-2.safetensors","b":"m-2.safetensors"})")), ErrorCode::kBadFile,
                 "tensor 'a' is not in its shard 'm-2.safetensors'");
}

TEST_F(Shards, IndexThatIsNone) {
  for (const char* map :
       {"[]", "{}", "1", R"({"a":1})", R"({"a":{}})", R"({"a":["m-1.safetensors"]})", R"({}, "weight_map":{})"})
    EXPECT_REFUSED(open_tensor_files(index(map)), ErrorCode::kBadFile, "m.safetensors.index.json");
  for (const char* json : {"", "[]", "{}", "7", "{\"weight_map\":", "<html>"})
    EXPECT_REFUSED(open_tensor_files(put(folder / "m.safetensors.index.json", json)), ErrorCode::kBadFile,
                   "no shard index");
  put(folder / "m.safetensors.index.json", "{\"x\":" + std::string(100'000, '['));
  EXPECT_REFUSED(open_tensor_files(folder.path()), ErrorCode::kBadFile, "too deep");
}

TEST_F(Shards, FolderWithoutIndex) {
  EXPECT_REFUSED(open_tensor_files(folder.path()), ErrorCode::kUsage,
                 "name one of 'm-1.safetensors', 'm-2.safetensors'");
  std::filesystem::remove(folder / "m-2.safetensors");
  EXPECT_EQ(text(*open_tensor_files(folder.path()), 0), "first");
  std::filesystem::rename(folder / "m-1.safetensors", folder / "m-00001-of-00002.safetensors");
  put(folder / "m-00002-of-00002.safetensors", shard("b", "second"));
  EXPECT_EQ(open_tensor_files(folder.path())->tensors().size(), 2u);
  put(folder / "m-00003-of-00002.safetensors", shard("c", "third"));
  EXPECT_REFUSED(open_tensor_files(folder.path()), ErrorCode::kUsage, "not one set of shards");
  EXPECT_REFUSED(open_tensor_files(TempFolder().path()), ErrorCode::kNotFound, "folder");
  index("{}");
  put(folder / "n.safetensors.index.json", "{}");
  EXPECT_REFUSED(open_tensor_files(folder.path()), ErrorCode::kUsage, "several models");
}

}  // namespace
}  // namespace gesso
