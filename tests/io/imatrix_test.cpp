#include "io/imatrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "base/error.h"
#include "io/tensor_file.h"
#include "support/gguf_bytes.h"
#include "temp_folder.h"

namespace gesso {
namespace {

using testing::gguf_text;
using testing::GgufBytes;
using testing::le;

struct ImatrixTest : ::testing::Test {
  testing::TempFolder folder;

  std::filesystem::path file(const std::string& content, const char* name = "m.dat") {
    std::ofstream(folder / name, std::ios::binary) << content;
    return folder / name;
  }
  static Imatrix example() {
    Imatrix m;
    m.entries["a.weight"] = {{8, 2, 0}, 4, 2};
    m.entries["b.weight"] = {{1.5}, 3, 1};
    return m;
  }
  void expect_refused(const std::filesystem::path& path, ErrorCode code, const std::string& message) {
    try {
      (void)read_imatrix(path);
      ADD_FAILURE() << message;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      EXPECT_THAT(e.what(), ::testing::HasSubstr(message));
    }
  }
};

std::string dat_entry(const std::string& name, int32_t calls, const std::vector<float>& values) {
  std::string text = le(static_cast<int32_t>(name.size())) + name + le(calls) + le(static_cast<int32_t>(values.size()));
  for (const float v : values) text += le(v);
  return text;
}

// The layout that llama.cpp's older programs write: sums of means over calls, and behind the entries the last call and
// the name of the data.
TEST_F(ImatrixTest, TheOlderLayoutIsReadAndWritten) {
  const auto path = file(le(int32_t{2}) + dat_entry("a.weight", 2, {4, 1, 0}) + dat_entry("b.weight", 1, {0.5}) +
                         le(int32_t{2}) + le(int32_t{0}));
  const Imatrix read = read_imatrix(path);
  EXPECT_EQ(read.entries.at("a.weight").means(), (std::vector<float>{2, 0.5, 0}));
  EXPECT_EQ(read.entries.at("b.weight").means(), (std::vector<float>{0.5}));
  write_imatrix(folder / "w.dat", example());
  std::ifstream written(folder / "w.dat", std::ios::binary), wanted(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(written), {}),
            std::string(std::istreambuf_iterator<char>(wanted), {}));
  const auto shorter = file(le(int32_t{1}) + dat_entry("x", 1, {1}), "s.dat");
  EXPECT_EQ(read_imatrix(shorter).entries.size(), 1u) << "the trailer came later";
}

TEST_F(ImatrixTest, TheLayoutInGgufIsReadAndWritten) {
  const std::string data = le(8.f) + le(2.f) + le(0.f) + std::string(20, '\0') + le(4.f);
  const auto path = file(GgufBytes()
                             .key("general.type", 8, gguf_text("imatrix"))
                             .tensor("a.weight.in_sum2", {3, 1}, 0, 0)
                             .tensor("a.weight.counts", {1, 1}, 0, 32)
                             .file(data),
                         "m.gguf");
  const Imatrix read = read_imatrix(path);
  EXPECT_EQ(read.entries.at("a.weight").means(), (std::vector<float>{2, 0.5, 0}));
  EXPECT_EQ(read.entries.at("a.weight").rows, 4);

  write_imatrix(folder / "w.gguf", example());
  const Imatrix back = read_imatrix(folder / "w.gguf");
  ASSERT_EQ(back.entries.size(), 2u);
  EXPECT_EQ(back.entries.at("a.weight").sums, (std::vector<double>{8, 2, 0}));
  EXPECT_EQ(back.entries.at("a.weight").rows, 4);
  const auto as_file = open_tensor_file(folder / "w.gguf");
  EXPECT_EQ(as_file->metadata().at("imatrix.chunk_count"), "2");
  EXPECT_EQ(as_file->metadata().at("imatrix.datasets"), "['prompts']");
}

TEST_F(ImatrixTest, MergingAdds) {
  Imatrix m = example();
  m.merge(example());
  EXPECT_EQ(m.entries.at("a.weight").sums, (std::vector<double>{16, 4, 0}));
  EXPECT_EQ(m.entries.at("a.weight").rows, 8);
  EXPECT_EQ(m.entries.at("a.weight").means(), example().entries.at("a.weight").means());
  Imatrix other;
  other.entries["a.weight"] = {{1, 2}, 1, 1};
  EXPECT_THROW(m.merge(other), Error);
}

TEST_F(ImatrixTest, RefusesWhatIsNone) {
  using enum ErrorCode;
  expect_refused(file(""), kBadFile, "cut off");
  expect_refused(file("<html>not found</html>"), kBadFile, "no importance matrix");
  expect_refused(file(le(int32_t{0})), kBadFile, "without entries");
  expect_refused(file(le(int32_t{-1})), kBadFile, "-1 entries");
  expect_refused(file(le(int32_t{1}) + le(int32_t{0x7fffffff})), kBadFile, "cut off");
  expect_refused(file(le(int32_t{1}) + le(int32_t{1}) + "x" + le(int32_t{1}) + le(int32_t{0x7fffffff})), kBadFile,
                 "cut off");
  expect_refused(file(le(int32_t{1}) + dat_entry("x", 1, {-1})), kBadFile, "negative or not finite");
  expect_refused(file(le(int32_t{1}) + dat_entry("x", 1, {std::numeric_limits<float>::quiet_NaN()})), kBadFile,
                 "not finite");
  expect_refused(file(le(int32_t{2}) + dat_entry("x", 1, {1}) + dat_entry("x", 1, {1})), kBadFile, "twice");
  expect_refused(file(GgufBytes().file(), "m.gguf"), kBadFile, "another kind");
  expect_refused(file(GgufBytes().key("general.type", 8, gguf_text("imatrix")).file(), "m.gguf"), kBadFile,
                 "without entries");
  expect_refused(
      file(GgufBytes().key("general.type", 8, gguf_text("imatrix")).tensor("a.in_sum2", {1, 1}, 0, 0).file(le(1.f)),
           "m.gguf"),
      kBadFile, "wanted one count");
  expect_refused(folder / "none.dat", kNotFound, "none.dat");
}

}  // namespace
}  // namespace gesso
