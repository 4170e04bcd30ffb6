#include "weights/weight_store.h"

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "support/golden.h"

namespace gesso {
namespace {

/// A file in memory: "a" [2, 3] counts 0 to 5 in f32, "fused" [6, 2] counts 0 to 11 in bf16.
class MemoryFile : public TensorFile {
 public:
  MemoryFile() {
    for (int i = 0; i < 6; ++i) a_.push_back(static_cast<float>(i));
    for (int i = 0; i < 12; ++i) fused_.push_back(f32_to_bf16(static_cast<float>(i)));
  }
  const std::filesystem::path& path() const override { return path_; }
  std::string_view format() const override { return "memory"; }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  std::span<const std::byte> read(const TensorInfo& tensor) const override {
    return tensor.name == "a" ? std::as_bytes(std::span(a_)) : std::as_bytes(std::span(fused_));
  }

 private:
  std::filesystem::path path_ = "memory file";
  std::vector<float> a_;
  std::vector<uint16_t> fused_;
  std::vector<TensorInfo> tensors_{{"a", DType::kF32, {2, 3}, 0, 24}, {"fused", DType::kBF16, {6, 2}, 24, 24}};
  std::map<std::string, std::string> metadata_{{"groups", "8"}, {"bad", "8x"}};
};

struct WeightStoreTest : testing::Test {
  CpuDevice cpu;
  std::shared_ptr<const TensorFile> file = std::make_shared<MemoryFile>();
  WeightStore store{"thing"};
};

TEST_F(WeightStoreTest, ReadsPlainPartsAndTransposed) {
  store.bind("plain", {file, 0});
  store.bind("second", {file, 1, 1, 3});
  store.bind("turned", {file, 0, 0, 1, true});
  store.bind("last two", {file, 1, 1, 3, false, 2});
  EXPECT_EQ(to_values(store.get("plain", {2, 3})->read(cpu, DType::kF32)), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(to_values(store.get("second", {2, 2})->read(cpu, DType::kBF16)), (std::vector<float>{4, 5, 6, 7}));
  EXPECT_EQ(to_values(store.get("turned", {3, 2})->read(cpu, DType::kF32)), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(store.get("second", {2, 2})->values(), (std::vector<float>{4, 5, 6, 7}));
  EXPECT_EQ(store.get("last two", {4, 2})->values(), (std::vector<float>{4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST_F(WeightStoreTest, ReadsRows) {
  store.bind("second", {file, 1, 1, 3});
  Tensor y = cpu.empty({3, 2}, DType::kF32);
  store.get("second", {2, 2})->read_rows(std::vector<int32_t>{1, 0, 1}, y);
  EXPECT_EQ(to_values(y), (std::vector<float>{6, 7, 4, 5, 6, 7}));
}

/// "q" [4, 32] of Q8_0: row r, column c is (r + 1) * (c - 16).
class QuantisedFile : public TensorFile {
 public:
  QuantisedFile() {
    for (int row = 1; row <= 4; ++row) {
      const uint16_t scale = f32_to_f16(static_cast<float>(row));
      bytes_.push_back(static_cast<std::byte>(scale & 0xff));
      bytes_.push_back(static_cast<std::byte>(scale >> 8));
      for (int c = 0; c < 32; ++c) bytes_.push_back(static_cast<std::byte>(c - 16));
    }
  }
  const std::filesystem::path& path() const override { return path_; }
  std::string_view format() const override { return "memory"; }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  std::span<const std::byte> read(const TensorInfo&) const override { return bytes_; }
  static float value(int64_t row, int64_t column) { return static_cast<float>((row + 1) * (column - 16)); }

 private:
  std::filesystem::path path_ = "quantised file";
  std::vector<std::byte> bytes_;
  // once in its rows, once as the kernel that was stored in them: parts of it begin inside blocks
  std::vector<TensorInfo> tensors_{{"q", DType::kQ8_0, {4, 32}, 0, 136}, {"kernel", DType::kQ8_0, {8, 16}, 0, 136}};
  std::map<std::string, std::string> metadata_;
};

TEST_F(WeightStoreTest, QuantisedWeightsAreReadAsAnyOther) {
  const auto quantised = std::make_shared<QuantisedFile>();
  store.bind("plain", {quantised, 0});
  store.bind("half", {quantised, 0, 1, 2});
  store.bind("turned", {quantised, 0, 0, 1, true});
  store.bind("inside", {quantised, 1, 1, 8});
  const auto at = [](const std::vector<float>& v, int64_t i) { return v[static_cast<size_t>(i)]; };
  for (const DType dtype : {DType::kF32, DType::kBF16}) {  // all values are exact in bf16
    const auto plain = to_values(store.get("plain", {4, 32})->read(cpu, dtype));
    const auto half = to_values(store.get("half", {2, 32})->read(cpu, dtype));
    const auto turned = to_values(store.get("turned", {32, 4})->read(cpu, dtype));
    for (int64_t row = 0; row < 4; ++row)
      for (int64_t column = 0; column < 32; ++column) {
        ASSERT_EQ(at(plain, row * 32 + column), QuantisedFile::value(row, column));
        ASSERT_EQ(at(turned, column * 4 + row), QuantisedFile::value(row, column));
        if (row < 2) {
          ASSERT_EQ(at(half, row * 32 + column), QuantisedFile::value(row + 2, column));
        }
      }
  }
  const auto inside = store.get("inside", {1, 16})->values();  // the second half of the first block
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(at(inside, i), QuantisedFile::value(0, 16 + i));
  Tensor y = cpu.empty({2, 32}, DType::kF32);
  store.get("half", {2, 32})->read_rows(std::vector<int32_t>{1, 0}, y);
  EXPECT_EQ(to_values(y)[0], QuantisedFile::value(3, 0));
  EXPECT_EQ(to_values(y)[63], QuantisedFile::value(2, 31));
}

TEST_F(WeightStoreTest, ErrorsNameFileTensorAndShapes) {
  store.bind("plain", {file, 0});
  EXPECT_THAT(
      [&] {
        (void)store.get("plain", {3, 3});
      },
      testing::ThrowsMessage<Error>(testing::AllOf(testing::HasSubstr("memory file"), testing::HasSubstr("'a'"),
                                                   testing::HasSubstr("[3, 3]"), testing::HasSubstr("[2, 3]"))));
  EXPECT_THAT([&] { (void)store.get("absent", {1}); },
              testing::ThrowsMessage<Error>(testing::AllOf(testing::HasSubstr("absent"), testing::HasSubstr("thing"))));
  EXPECT_THAT(
      [&] {
        store.bind("plain", {file, 1});
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("two tensors")));
  EXPECT_THAT(
      [&] {
        store.bind("parts", {file, 0, 0, 4});
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("4 parts")));
}

TEST_F(WeightStoreTest, OnesAtEitherEndDoNotMatter) {
  store.bind("plain", {file, 0});
  EXPECT_EQ(to_string(store.get("plain", {2, 3, 1, 1})->shape()), "[2, 3, 1, 1]");
  store.bind("leading", {file, 0});
  EXPECT_EQ(to_string(store.get("leading", {1, 2, 3})->shape()), "[1, 2, 3]") << "ggml leaves leading ones out";
}

TEST_F(WeightStoreTest, TellsWhatWasNotUsed) {
  store.bind("plain", {file, 0});
  store.bind("other", {file, 1});
  (void)store.get("plain", {2, 3});
  EXPECT_THAT(store.unused(), testing::ElementsAre("other"));
}

TEST_F(WeightStoreTest, MetadataIsCheckedAndOverridden) {
  store.bind("plain", {file, 0});
  EXPECT_EQ(store.metadata_int("groups", 32, 1, 64), 8);
  EXPECT_EQ(store.metadata_int("absent", 32, 1, 64), 32);
  EXPECT_THROW(store.metadata_int("bad", 32, 1, 64), Error);
  EXPECT_THROW(store.metadata_int("groups", 32, 1, 4), Error);
  store.set_metadata("groups", "16");
  EXPECT_EQ(store.metadata_int("groups", 32, 1, 64), 16);
}

TEST_F(WeightStoreTest, ScopesCountAndFind) {
  store.bind("blocks.0.weight", {file, 0});
  store.bind("blocks.1.weight", {file, 0});
  store.bind("blocks.3.weight", {file, 0});
  const WeightScope w(store);
  EXPECT_EQ(w.count("blocks", "weight"), 2);
  EXPECT_EQ((w / "blocks" / 1).extent("weight", 1), 3);
  EXPECT_EQ((w / "blocks" / 1).find("bias", {2}), nullptr);
  EXPECT_THROW((void)(w / "blocks" / 2).extent("weight", 0), Error);
}

TEST_F(WeightStoreTest, PreparedFormIsKeptUntilReleased) {
  store.bind("plain", {file, 0});
  const Weight weight = store.get("plain", {2, 3});
  const Tensor first = parameter(cpu, weight), again = parameter(cpu, weight);
  EXPECT_EQ(first.raw(), again.raw());
  store.release();
  EXPECT_NE(parameter(cpu, weight).raw(), first.raw());
}

}  // namespace
}  // namespace gesso
