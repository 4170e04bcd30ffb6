#include "io/tensor_file.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "temp_folder.h"

namespace gesso {
namespace {

using namespace std::string_literals;
using testing::put;
using testing::TempFolder;

TEST(TensorFile, SaysWhatTheFileIsInstead) {  // S19, P05
  const TempFolder folder;
  struct Row {
    std::string content;
    ErrorCode code;
    const char* says;
  };
  const Row rows[] = {
      {"GGUF\x01\0\0\0"s + std::string(40, '\0'), ErrorCode::kUnsupported, "GGUF of version 1"},
      {"PK\x03\x04\0\0\0\0\0\0archive/data.pkl"s, ErrorCode::kBadFile, "zip archive"},
      {"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19."s, ErrorCode::kBadFile, "truncated"},
      {"<!DOCTYPE html><html><body>404</body></html>", ErrorCode::kBadFile, "HTML"},
      {"\n  <?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>", ErrorCode::kBadFile, "HTML"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", ErrorCode::kBadFile, "git-LFS pointer"},
      {"{\"error\": \"Invalid credentials\"}", ErrorCode::kBadFile, "JSON"},
      {"Not Found", ErrorCode::kBadFile, "plain text"},
      {"Entry not found {", ErrorCode::kBadFile, "plain text"},
      {"", ErrorCode::kBadFile, "is empty"},
      {"\x01\x02\x03", ErrorCode::kBadFile, "no model file that Gesso knows"},
      {"\x40\0\0\0\0\0\0\0"s, ErrorCode::kBadFile, "truncated: needs 72 bytes, has 8"},
      {"\xff\xff\xff\xff\xff\xff\xff\xff{}"s, ErrorCode::kBadFile, "not a safetensors file"},
      {"\x89PNG\r\n\x1a\n\0\0"s, ErrorCode::kUnsupported, "a picture"},
      {std::string(257, '\0') + "ustar\0"s + std::string(200, '\0'), ErrorCode::kUnsupported, "tar archive"},
  };
  const auto path = folder / "model.safetensors";
  for (const Row& row : rows) {
    put(path, row.content);
    EXPECT_REFUSED(open_tensor_file(path), row.code, row.says);
    EXPECT_REFUSED(open_tensor_file(path), row.code, quoted(path));
  }
}

TEST(TensorFile, OpensByContentNotByName) {
  const TempFolder folder;  // X01: its name has blanks, quotes, Cyrillic, CJK and an emoji
  const auto file = open_tensor_file(put(folder / "模型 «м» 🎨.ckpt", testing::safetensors("{}")));
  EXPECT_EQ(file->format(), "safetensors");
}

TEST(TensorFile, PathsThatCannotBeRead) {  // X05, X08
  const TempFolder folder;
  EXPECT_REFUSED(open_tensor_file(" /no such file"), ErrorCode::kNotFound, "file not found: ' /no such file'");
  EXPECT_REFUSED(open_tensor_file(folder / "absent.safetensors"), ErrorCode::kNotFound, "absent.safetensors'");
  EXPECT_REFUSED(open_tensor_file(folder.path()), ErrorCode::kIo, "it is a folder");
  if (::geteuid() == 0) return;  // root may read everything
  const auto locked = put(folder / "locked.safetensors", testing::safetensors("{}"));
  std::filesystem::permissions(locked, std::filesystem::perms::none);
  EXPECT_REFUSED(open_tensor_file(locked), ErrorCode::kIo, "Permission denied");
}

}  // namespace
}  // namespace gesso
