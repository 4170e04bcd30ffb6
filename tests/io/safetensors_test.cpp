#include "io/safetensors.h"

#include <gtest/gtest.h>

#include <random>

#include "temp_folder.h"

namespace gesso {
namespace {

using testing::put;
using testing::safetensors;
using testing::TempFolder;

SafetensorsHeader parse(const std::string& file) {
  return parse_safetensors(std::as_bytes(std::span(file.data(), file.size())), "model.safetensors");
}

std::string entry(std::string_view name, std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{}]}})", name, dtype, shape, offsets);
}

std::string one(std::string_view dtype, std::string_view shape, std::string_view offsets, size_t data) {
  return safetensors("{" + entry("w", dtype, shape, offsets) + "}", std::string(data, 'x'));
}

TEST(Safetensors, ReadsTensorsMetadataAndBytes) {
  const TempFolder folder;
  const std::string header = R"({"__metadata__":{"format":"pt","empty":""},)" +
                             entry("a.weight", "F16", "2,3", "0,12") + "," + entry("b", "F32", "", "12,16") + "}";
  const auto file = open_tensor_file(put(folder / "m.safetensors", safetensors(header, "0123456789abWXYZ")));
  EXPECT_EQ(file->format(), "safetensors");
  EXPECT_EQ(file->metadata(), (std::map<std::string, std::string>{{"format", "pt"}, {"empty", ""}}));
  ASSERT_EQ(file->tensors().size(), 2u);
  const TensorInfo &a = file->tensors()[0], &b = file->tensors()[1];
  EXPECT_EQ(a.name, "a.weight");
  EXPECT_EQ(a.dtype, DType::kF16);
  EXPECT_EQ(a.shape, (Shape{2, 3}));
  EXPECT_EQ(b.shape, Shape{});
  const auto bytes = file->read(b);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "WXYZ");
  EXPECT_REFUSED(file->read({"no", DType::kU8, Shape{9}, 10, 9}), ErrorCode::kInternal, "'no'");
}

TEST(Safetensors, ReadsEveryType) {
  for (const char* name : {"F32", "F16", "BF16", "F64", "F8_E4M3", "F8_E5M2", "I8", "U8", "I16", "U16", "I32", "U32",
                           "I64", "U64", "BOOL"}) {
    const DType dtype = dtype_from_string(name).value();
    const auto bytes = static_cast<size_t>(3 * size_of(dtype));
    const auto header = parse(one(name, "3", fmt::format("0,{}", bytes), bytes));
    EXPECT_EQ(header.tensors.at(0).dtype, dtype) << name;
  }
}

TEST(Safetensors, OffsetsOutsideTheDataNameTheTensor) {  // S01
  EXPECT_REFUSED(parse(one("F32", "1", "4,0", 8)), ErrorCode::kBadFile, "'w' begins at 4 but ends at 0");
  EXPECT_REFUSED(parse(one("F32", "2", "4,12", 8)), ErrorCode::kBadFile, "'w'");
  EXPECT_REFUSED(parse(one("U8", "8", "18446744073709551600,18446744073709551608", 8)), ErrorCode::kBadFile,
                 "far outside");
}

TEST(Safetensors, HeaderLengthIsCheckedBeforeAllocation) {  // S02
  for (const uint64_t length : {~uint64_t{0}, uint64_t{1} << 63, kMaxSafetensorsHeader + 1}) {
    std::string file;
    for (int i = 0; i < 8; ++i) file += static_cast<char>(length >> (8 * i));
    EXPECT_REFUSED(parse(file), ErrorCode::kBadFile, "not a safetensors file");
    EXPECT_REFUSED(parse(file + std::string(56, '{')), ErrorCode::kBadFile, "not a safetensors file");
  }
  std::string file = safetensors("{}");
  file[0] = 100;
  EXPECT_REFUSED(parse(file), ErrorCode::kBadFile, "truncated: needs 108 bytes, has 10");
}

TEST(Safetensors, DataOffsetsAreTwo) {  // S02
  EXPECT_REFUSED(parse(one("F32", "1", "", 4)), ErrorCode::kBadFile, "0 data_offsets");
  EXPECT_REFUSED(parse(one("F32", "1", "0", 4)), ErrorCode::kBadFile, "1 data_offsets");
  EXPECT_REFUSED(parse(one("F32", "1", "0,4,4", 4)), ErrorCode::kBadFile, "more than two");
  EXPECT_REFUSED(parse(one("F32", "1", "-4,0", 4)), ErrorCode::kBadFile, "negative");
  EXPECT_REFUSED(parse(one("F32", "1", "0.0,4", 4)), ErrorCode::kBadFile, "number");
}

TEST(Safetensors, OverlapIsRefusedAndOrderIsFree) {  // S04
  const auto three = [](const char* a, const char* b, const char* c) {
    return safetensors(
        "{" + entry("a", "U8", "4", a) + "," + entry("b", "U8", "4", b) + "," + entry("c", "U8", "4", c) + "}",
        std::string(12, 'x'));
  };
  EXPECT_REFUSED(parse(three("0,4", "2,6", "8,12")), ErrorCode::kBadFile, "tensors 'a' and 'b' overlap");
  EXPECT_REFUSED(parse(three("0,4", "0,4", "8,12")), ErrorCode::kBadFile, "overlap");
  EXPECT_EQ(parse(three("8,12", "0,4", "4,8")).tensors.at(0).offset, 8u);
}

TEST(Safetensors, ShapeMustMatchTheSpan) {  // S05
  EXPECT_REFUSED(parse(one("F32", "1000000,1000000", "0,4", 4)), ErrorCode::kBadFile, "'w' is [1000000, 1000000]");
  EXPECT_REFUSED(parse(one("F32", "4294967296,4294967296,4", "0,4", 4)), ErrorCode::kBadFile, "'w'");
  EXPECT_REFUSED(parse(one("F32", "4611686018427387905", "0,4", 4)), ErrorCode::kBadFile, "'w'");
  EXPECT_REFUSED(parse(one("F32", "4611686018427387904,4,0", "0,0", 0)), ErrorCode::kBadFile, "'w'");
  EXPECT_REFUSED(parse(one("F32", "-1,-1", "0,4", 4)), ErrorCode::kBadFile, "negative");
  EXPECT_REFUSED(parse(one("F32", "18446744073709551615", "0,4", 4)), ErrorCode::kBadFile, "2^63");
  EXPECT_REFUSED(parse(one("U8", "1,1,1,1,1,1,1,1,1", "0,1", 1)), ErrorCode::kUnsupported, "more than 8 dimensions");
}

TEST(Safetensors, BytesAfterTheLastTensorAreAccepted) {  // S07
  EXPECT_EQ(parse(one("F32", "2", "0,8", 12)).tensors.size(), 1u);
}

TEST(Safetensors, EmptyTensorsAreKept) {  // S08
  const auto header = parse(one("F8_E4M3", "0", "0,0", 0));
  EXPECT_EQ(header.tensors.at(0).shape, Shape{0});
  EXPECT_REFUSED(parse(one("F8_E4M3", "1", "0,0", 0)), ErrorCode::kBadFile, "'w' is [1] of F8_E4M3 but has 0 bytes");
  const auto inside =
      safetensors("{" + entry("w", "U8", "4", "0,4") + "," + entry("mark", "F32", "0,7", "2,2") + "}", "abcd");
  EXPECT_EQ(parse(inside).tensors.size(), 2u);
}

TEST(Safetensors, HeaderSizesAroundRoundNumbers) {  // S10
  for (const size_t size : {99'999u, 100'000u, 100'001u}) {
    std::string header = "{" + entry("w", "F32", "1", "0,4") + "}";
    header.resize(size, ' ');
    EXPECT_EQ(parse(safetensors(header, "wxyz")).tensors.size(), 1u) << size;
  }
  std::string many = "{";
  for (int i = 0; i < 30'000; ++i)
    many += (i ? "," : "") + entry(fmt::format("layer.{}.weight", i), "U8", "1", fmt::format("{},{}", i, i + 1));
  EXPECT_EQ(parse(safetensors(many + "}", std::string(30'000, 'x'))).tensors.size(), 30'000u);
}

TEST(Safetensors, UnknownTypeIsNamedAfterItsOffsetsAreChecked) {  // S11
  EXPECT_REFUSED(parse(one("X9", "2", "0,4", 4)), ErrorCode::kUnsupported, "tensor 'w' has the unknown type 'X9'");
  EXPECT_REFUSED(parse(one("X9", "2", "9,4", 4)), ErrorCode::kBadFile, "'w' begins at 9");
  EXPECT_REFUSED(parse(one("X9", "2", "0,400", 4)), ErrorCode::kBadFile, "truncated");
}

TEST(Safetensors, EveryTruncationIsRefused) {  // S19
  const std::string whole = one("F32", "4", "0,16", 16);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_REFUSED(parse(whole.substr(0, size)), ErrorCode::kBadFile,
                   fmt::format("truncated: needs {} bytes, has {}",
                               size < 8                   ? 8
                               : size < whole.size() - 16 ? whole.size() - 16
                                                          : whole.size(),
                               size));
  EXPECT_EQ(parse(whole).tensors.size(), 1u);
}

TEST(Safetensors, JsonThatIsNoHeader) {
  const char* bad[] = {
      "",
      "[]",
      "1",
      "null",
      "{",
      "{]",
      R"({"a":1})",
      R"({"a":null})",
      R"({"a":[]})",
      R"({"a":{}})",
      R"({"a":{"dtype":"F32","shape":[]}})",
      R"({"a":{"dtype":1,"shape":[],"data_offsets":[0,0]}})",
      R"({"a":{"dtype":"U8","dtype":"I8","shape":[0],"data_offsets":[0,0]}})",
      R"({"a":{"dtype":"U8","shape":[[0]],"data_offsets":[0,0]}})",
      R"({"a":{"dtype":"U8","shape":0,"data_offsets":[0,0]}})",
      R"({"a":{"dtype":"U8","shape":[1e400],"data_offsets":[0,0]}})",
      R"({"a":{"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,0]}})",
      R"({"__metadata__":{"a":1}})",
      R"({"__metadata__":{"a":{}}})",
      R"({"__metadata__":{"a":"1","a":"2"}})",
      R"({"__metadata__":{},"__metadata__":{}})",
      R"({"__metadata__":[]})",
      "{\"\xff\":1}",
      "{} x",
  };
  for (const char* header : bad) EXPECT_REFUSED(parse(safetensors(header)), ErrorCode::kBadFile, "model.safetensors");
}

TEST(Safetensors, ToleratesWhatTheFormatsReaderTolerates) {
  EXPECT_TRUE(parse(safetensors("{}")).tensors.empty());
  EXPECT_TRUE(parse(safetensors(R"({"__metadata__":null})")).tensors.empty());
  EXPECT_EQ(
      parse(safetensors(R"({"a":{"x":[{"y":[1,null,"z"]}],"dtype":"U8","n":-1,"shape":[0],"data_offsets":[0,0]}}  )"))
          .tensors.size(),
      1u);
}

TEST(Safetensors, NamesTwiceAndStrangeNames) {
  EXPECT_REFUSED(parse(safetensors("{" + entry("a", "U8", "0", "0,0") + "," + entry("a", "U8", "0", "0,0") + "}")),
                 ErrorCode::kBadFile, "tensor 'a' twice");
  EXPECT_REFUSED(parse(safetensors("{" + entry("a\\nb", "F32", "1", "0,0") + "}")), ErrorCode::kBadFile, "'a\\x0ab'");
}

TEST(Safetensors, DepthIsBounded) {
  const std::string deep(1'000'000, '[');
  EXPECT_REFUSED(parse(safetensors(deep)), ErrorCode::kBadFile, "array");
  EXPECT_REFUSED(parse(safetensors(R"({"a":{"x":)" + deep)), ErrorCode::kBadFile, "too deep");
}

TEST(Safetensors, MetadataEntriesAreBounded) {
  std::string header = R"({"__metadata__":{)";
  for (size_t i = 0; i <= kMaxSafetensorsMetadata; ++i) header += fmt::format("{}\"{}\":\"\"", i ? "," : "", i);
  EXPECT_REFUSED(parse(safetensors(header + "}}")), ErrorCode::kBadFile, "more than 65536 entries");
}

/// Whatever the reader accepts must be safe to use.
void check_invariants(const std::string& file) {
  try {
    const SafetensorsHeader header = parse(file);
    ASSERT_LE(header.data_begin, file.size());
    for (const TensorInfo& t : header.tensors) {
      ASSERT_LE(t.offset, file.size() - header.data_begin);
      ASSERT_LE(t.bytes, file.size() - header.data_begin - t.offset);
      ASSERT_EQ(t.bytes, static_cast<uint64_t>(t.shape.elements() * size_of(t.dtype)));
    }
  } catch (const Error& error) {
    ASSERT_TRUE(error.code() == ErrorCode::kBadFile || error.code() == ErrorCode::kUnsupported) << error.what();
  }
}

TEST(Safetensors, MutatedFilesNeverEscape) {
  const std::string valid =
      safetensors(R"({"__metadata__":{"format":"pt"},)" + entry("a.weight", "F16", "2,3", "0,12") + "," +
                      entry("b", "F32", "", "12,16") + "," + entry("c", "U8", "0", "16,16") + "}",
                  "0123456789abWXYZ");
  const std::string_view pieces[] = {"{",
                                     "}",
                                     "[",
                                     "]",
                                     ",",
                                     ":",
                                     "\"",
                                     "0",
                                     "9",
                                     "-",
                                     ".",
                                     "e",
                                     "\\u0000",
                                     "\xff",
                                     "null",
                                     "99999999999",
                                     "\"F32\"",
                                     "\"shape\":",
                                     "18446744073709551615"};
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  for (int round = 0; round < 20'000; ++round) {
    std::string file = valid;
    for (size_t changes = 1 + below(4); changes > 0; --changes) {
      const size_t at = below(file.size());
      switch (below(4)) {
        case 0:
          file[at] = static_cast<char>(random());
          break;
        case 1:
          file.erase(at, 1 + below(8));
          break;
        case 2:
          file.insert(at, pieces[below(std::size(pieces))]);
          break;
        case 3:
          file[at] = pieces[below(std::size(pieces))][0];
          break;
      }
      if (file.empty()) file = "x";
    }
    if (round % 2 && file.size() >= 8) {  // keep the length right, so that the mutation reaches the JSON
      const size_t header = std::min(file.size() - 8, valid.size() - 24);
      for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(header >> (8 * i));
    }
    check_invariants(file);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

}  // namespace
}  // namespace gesso
