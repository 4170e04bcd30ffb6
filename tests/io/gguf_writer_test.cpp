#include "io/gguf_writer.h"

#include <gtest/gtest.h>

#include "io/gguf.h"
#include "temp_folder.h"

namespace gesso {
namespace {

using testing::TempFolder;

std::span<const std::byte> gguf_data(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(GgufWriter, WhatItWritesIsReadBack) {
  const TempFolder folder;
  const auto path = folder / "sub" / "out.gguf";
  GgufWriter writer(path,
                    {{"a", DType::kF16, Shape{2, 3}},
                     {"none", DType::kF32, Shape{0}},
                     {"q", DType::kQ4_0, Shape{1, 32}},
                     {"s", DType::kF32, Shape{}}},
                    {{"prediction_type", "v_prediction"}, {"general.alignment", "64"}, {"ünï", ""}});
  writer.write(gguf_data("0123456"));
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.write(gguf_data("789ab" + std::string(18, 'q') + "WX"));
  writer.write(gguf_data("YZ"));
  writer.finish();
  EXPECT_EQ(std::filesystem::file_size(path), writer.file_bytes());

  const auto file = open_tensor_file(path);
  const std::map<std::string, std::string> metadata = {
      {"general.quantization_version", "2"}, {"prediction_type", "v_prediction"}, {"ünï", ""}};
  EXPECT_EQ(file->metadata(), metadata);
  ASSERT_EQ(file->tensors().size(), 4u);
  const auto content = [&](size_t i) {
    const auto data = file->read(file->tensors()[i]);
    return std::string(reinterpret_cast<const char*>(data.data()), data.size());
  };
  EXPECT_EQ(file->tensors()[0].shape, (Shape{2, 3}));
  EXPECT_EQ(content(0), "0123456789ab");
  EXPECT_EQ(file->tensors()[1].shape, Shape{0});
  EXPECT_EQ(content(2), std::string(18, 'q'));
  EXPECT_EQ(content(3), "WXYZ");
}

TEST(GgufWriter, OffsetsPassFourGibibytes) {  // G11: only the header is written
  const TempFolder folder;
  std::error_code error;
  if (std::filesystem::space(folder.path(), error).available < (uint64_t{9} << 30)) GTEST_SKIP() << "small disk";
  GgufWriter writer(folder / "big.gguf", {{"a", DType::kF32, Shape{1 << 20, 2048}}, {"b", DType::kF32, Shape{1}}});
  EXPECT_EQ(writer.tensors()[1].offset, uint64_t{1} << 33);
}

TEST(GgufWriter, LeavesNothingWhenUnfinished) {
  const TempFolder folder;
  {
    GgufWriter writer(folder / "out.gguf", {{"a", DType::kI8, Shape{4}}});
    writer.write(gguf_data("abc"));
    EXPECT_REFUSED(writer.finish(), ErrorCode::kInternal, "1 bytes of the announced tensors are missing");
    EXPECT_REFUSED(writer.write(gguf_data("xy")), ErrorCode::kInternal, "1 bytes too many");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(GgufWriter, RefusesWhatCannotBeWritten) {
  const TempFolder folder;
  const auto write = [&](std::vector<TensorInfo> tensors) { GgufWriter(folder / "x.gguf", std::move(tensors)); };
  EXPECT_REFUSED(write({{"a", DType::kI8, Shape{1}}, {"a", DType::kI8, Shape{1}}}), ErrorCode::kUsage, "there twice");
  EXPECT_REFUSED(write({{"a", DType::kU8, Shape{1}}}), ErrorCode::kUsage, "U8, which GGUF files cannot hold");
  EXPECT_REFUSED(write({{"a", DType::kF64, Shape{int64_t{1} << 62}}}), ErrorCode::kUsage, "too large");
  EXPECT_REFUSED(write({{"a", DType::kQ4_0, Shape{2, 16}}}), ErrorCode::kUsage, "no whole number of blocks");
  EXPECT_REFUSED(write({{"a", DType::kF32, Shape{int64_t{1} << 58}}}), ErrorCode::kIo, "the disk has room for");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace gesso
