#include "io/safetensors_writer.h"

#include <gtest/gtest.h>

#include "io/safetensors.h"
#include "temp_folder.h"

namespace gesso {
namespace {

using testing::TempFolder;

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(SafetensorsWriter, WhatItWritesIsReadBack) {
  const TempFolder folder;
  const auto path = folder / "sub" / "out.safetensors";
  const std::map<std::string, std::string> metadata = {{"format", "pt"}, {"quote \"\n", "ünï \\ 🎨"}};
  SafetensorsWriter writer(
      path, {{"a", DType::kF16, Shape{2, 3}}, {"mark", DType::kF8E4M3, Shape{0}}, {"s\n\"", DType::kF32, Shape{}}},
      metadata);
  writer.write(bytes("0123456"));
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.write(bytes("789abWXYZ"));
  writer.finish();

  const auto file = open_tensor_file(path);
  EXPECT_EQ(file->metadata(), metadata);
  ASSERT_EQ(file->tensors().size(), 3u);
  EXPECT_EQ(file->tensors()[0].shape, (Shape{2, 3}));
  EXPECT_EQ(file->tensors()[1].shape, Shape{0});
  EXPECT_EQ(file->tensors()[2].name, "s\n\"");
  const auto last = file->read(file->tensors()[2]);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(last.data()), last.size()), "WXYZ");
  EXPECT_EQ(parse_safetensors(MappedFile::open(path)->bytes(), path).data_begin % 8, 0u);
}

TEST(SafetensorsWriter, OffsetsPassFourGibibytes) {  // G11: only the header is written
  const TempFolder folder;
  std::error_code error;
  if (std::filesystem::space(folder.path(), error).available < (uint64_t{9} << 30)) GTEST_SKIP() << "small disk";
  SafetensorsWriter writer(folder / "big.safetensors",
                           {{"a", DType::kF32, Shape{1 << 20, 2048}}, {"b", DType::kF32, Shape{1}}});
  EXPECT_EQ(writer.tensors()[1].offset, uint64_t{1} << 33);
}

TEST(SafetensorsWriter, LeavesNothingWhenUnfinished) {
  const TempFolder folder;
  {
    SafetensorsWriter writer(folder / "out.safetensors", {{"a", DType::kU8, Shape{4}}});
    writer.write(bytes("abc"));
    EXPECT_REFUSED(writer.finish(), ErrorCode::kInternal, "1 bytes of the announced tensors are missing");
    EXPECT_REFUSED(writer.write(bytes("xy")), ErrorCode::kInternal, "1 bytes too many");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SafetensorsWriter, RefusesNamesAndSizesThatCannotBeWritten) {
  const TempFolder folder;
  const auto write = [&](std::vector<TensorInfo> tensors) {
    SafetensorsWriter(folder / "x.safetensors", std::move(tensors));
  };
  EXPECT_REFUSED(write({{"a", DType::kU8, Shape{1}}, {"a", DType::kU8, Shape{1}}}), ErrorCode::kUsage, "there twice");
  EXPECT_REFUSED(write({{"__metadata__", DType::kU8, Shape{1}}}), ErrorCode::kUsage, "reserved");
  EXPECT_REFUSED(write({{"a\xff", DType::kU8, Shape{1}}}), ErrorCode::kUsage, "not valid UTF-8");
  EXPECT_REFUSED(write({{"a", DType::kF64, Shape{int64_t{1} << 62}}}), ErrorCode::kUsage, "too large");
  EXPECT_REFUSED(write({{"a", DType::kQ4_0, Shape{32}}}), ErrorCode::kUsage, "write a GGUF file");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace gesso
