#include "io/gguf.h"

#include <gtest/gtest.h>

#include "support/gguf_bytes.h"
#include "temp_folder.h"
#include "tensor/quant/block_type.h"

namespace gesso {
namespace {

using namespace std::string_literals;
using testing::gguf_text;
using testing::GgufBytes;
using testing::le;

constexpr uint32_t kF32 = 0, kF16 = 1, kQ4_0 = 2, kQ4_K = 12;
constexpr uint32_t kTextType = 8, kArrayType = 9, kU32Type = 4, kI32Type = 5;

TensorFileHeader parse_gguf_bytes(const std::string& bytes) {
  return parse_gguf(std::as_bytes(std::span(bytes)), "test.gguf");
}

TEST(Gguf, NamesShapesTypesAndBytes) {
  const std::string data = std::string(32, 'a') + std::string(18, 'q');
  for (const uint32_t version : {2u, 3u}) {
    GgufBytes bytes{version, {}, {}};
    bytes.tensor("a", {3, 2}, kF32).tensor("q", {32, 1, 1}, kQ4_0, 32);
    const testing::TempFolder folder;
    const auto file = open_tensor_file(testing::put(folder / "model.bin", bytes.file(data)));
    EXPECT_EQ(file->format(), "gguf");
    ASSERT_EQ(file->tensors().size(), 2u);
    EXPECT_EQ(file->tensors()[0].shape, (Shape{2, 3})) << "outermost first";
    EXPECT_EQ(file->tensors()[1].shape, (Shape{1, 1, 32}));
    EXPECT_EQ(file->tensors()[1].dtype, DType::kQ4_0);
    EXPECT_EQ(file->read(file->tensors()[0]).size(), 24u);
    EXPECT_EQ(std::to_integer<char>(file->read(file->tensors()[1]).front()), 'q');
    EXPECT_EQ(file->read(file->tensors()[1]).size(), 18u);
  }
}

TEST(Gguf, EveryTypeOfTheTableCanBeThere) {
  for (const BlockType& type : block_types()) {
    const auto elements = static_cast<uint64_t>(type.elements);
    const auto header = parse_gguf_bytes(
        GgufBytes().tensor("t", {elements}, type.ggml_type).file(std::string(static_cast<size_t>(type.bytes), '\0')));
    EXPECT_EQ(header.tensors[0].dtype, type.dtype) << type.name;
    EXPECT_EQ(header.tensors[0].bytes, static_cast<uint64_t>(type.bytes)) << type.name;
  }
}

TEST(Gguf, UpToEightDimensions) {
  const auto header =
      parse_gguf_bytes(GgufBytes().tensor("t", {2, 1, 1, 2, 1, 1, 1, 3}, kF32).file(std::string(48, '\0')));
  EXPECT_EQ(header.tensors[0].shape, (Shape{3, 1, 1, 1, 2, 1, 1, 2}));
  EXPECT_EQ(parse_gguf_bytes(GgufBytes().tensor("scalar", {}, kF32).file("1234")).tensors[0].shape, Shape{});
}

TEST(Gguf, MetadataBecomeText) {
  const auto list = [](uint32_t type, uint64_t count, const std::string& values) {
    return le(type) + le(count) + values;
  };
  std::string many;
  for (int i = 0; i < 20; ++i) many += le<int32_t>(i);
  GgufBytes bytes;
  bytes.key("general.architecture", kTextType, gguf_text("sd1"))
      .key("u8", 0, "\xff"s)
      .key("i8", 1, "\xff"s)
      .key("u16", 2, le<uint16_t>(65535))
      .key("i16", 3, le<int16_t>(-2))
      .key("u32", 4, le<uint32_t>(4000000000))
      .key("i32", 5, le<int32_t>(-7))
      .key("f32", 6, le(0.5f))
      .key("true", 7, "\1"s)
      .key("u64", 10, le<uint64_t>(UINT64_MAX))
      .key("i64", 11, le<int64_t>(INT64_MIN))
      .key("f64", 12, le(0.1))
      .key("list", kArrayType, list(kTextType, 2, gguf_text("a b") + gguf_text("")))
      .key("none", kArrayType, list(kTextType, 0, ""))
      .key("many", kArrayType, list(kI32Type, 20, many))
      .key("nested", kArrayType, list(kArrayType, 2, list(0, 1, "\1"s) + list(7, 1, "\1"s)))
      .key("long", kTextType, gguf_text(std::string((1 << 20) + 1, 'x')));
  const auto metadata = parse_gguf_bytes(bytes.file()).metadata;
  const std::map<std::string, std::string> expected = {
      {"general.architecture", "sd1"},
      {"u8", "255"},
      {"i8", "-1"},
      {"u16", "65535"},
      {"i16", "-2"},
      {"u32", "4000000000"},
      {"i32", "-7"},
      {"f32", "0.5"},
      {"true", "true"},
      {"u64", "18446744073709551615"},
      {"i64", "-9223372036854775808"},
      {"f64", "0.1"},
      {"list", "['a b', '']"},
      {"none", "[]"},
      {"many", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, ... 20 in all]"},
      {"nested", "[[1], [true]]"},
      {"long", "(a text of 1048577 bytes)"},
  };
  EXPECT_EQ(metadata, expected);
}

TEST(Gguf, StoredShapesAreRestored) {
  const std::string shape = le(kI32Type) + le<uint64_t>(4) + le(8) + le(32) + le(1) + le(1);
  GgufBytes bytes;
  bytes.key("comfy.gguf.orig_shape.conv.weight", kArrayType, shape).tensor("conv.weight", {256, 1}, kQ4_K);
  const auto header = parse_gguf_bytes(bytes.file(std::string(144, '\0')));
  EXPECT_EQ(header.tensors[0].shape, (Shape{8, 32, 1, 1}));
  EXPECT_EQ(header.metadata.at("comfy.gguf.orig_shape.conv.weight"), "[8, 32, 1, 1]");

  bytes.tensors.clear();
  bytes.tensor("conv.weight", {512}, kQ4_K);
  EXPECT_REFUSED(parse_gguf_bytes(bytes.file(std::string(288, '\0'))), ErrorCode::kBadFile,
                 "cannot have the stored shape");
  const auto refused = [](uint32_t type, const std::string& value) {
    return GgufBytes().key("comfy.gguf.orig_shape.a", type, value).file();
  };
  EXPECT_REFUSED(parse_gguf_bytes(refused(kU32Type, le(1u))), ErrorCode::kBadFile, "no array");
  EXPECT_REFUSED(parse_gguf_bytes(refused(kArrayType, le(kI32Type) + le<uint64_t>(9))), ErrorCode::kBadFile, "up to 8");
  EXPECT_REFUSED(parse_gguf_bytes(refused(kArrayType, le(kI32Type) + le<uint64_t>(1) + le(-1))), ErrorCode::kBadFile,
                 "no array");
  EXPECT_REFUSED(parse_gguf_bytes(refused(kArrayType, le(kTextType) + le<uint64_t>(1) + gguf_text("x"))),
                 ErrorCode::kBadFile, "no array");
}

TEST(Gguf, TooManyDimensionsAreRefused) {  // G01
  for (const uint32_t rank : {9u, 1000u, 0xffffffffu}) {
    GgufBytes bytes;
    bytes.tensors.push_back(gguf_text("deep") + le(rank) + std::string(96, '\1'));
    EXPECT_REFUSED(parse_gguf_bytes(bytes.file()), ErrorCode::kUnsupported,
                   fmt::format("'deep' has {} dimensions", rank));
  }
}

TEST(Gguf, ExtentsThatOverflowAreRefused) {  // G02
  const std::vector<uint64_t> wrapping[] = {{uint64_t{1} << 32, uint64_t{1} << 32},
                                            {(uint64_t{1} << 42) + 1, uint64_t{1} << 22},
                                            {uint64_t{1} << 62, 4, 4},
                                            {0, uint64_t{1} << 62, 16},
                                            {INT64_MAX}};
  for (const auto& dims : wrapping)
    EXPECT_REFUSED(parse_gguf_bytes(GgufBytes().tensor("big", dims, kF32).file()), ErrorCode::kBadFile, "'big'");
  EXPECT_REFUSED(parse_gguf_bytes(GgufBytes().tensor("big", {UINT64_MAX}, kF32).file()), ErrorCode::kBadFile,
                 "an extent of");
}

TEST(Gguf, AlignmentIsChecked) {  // G04
  const auto aligned = [](uint32_t alignment) {
    return GgufBytes().key("general.alignment", kU32Type, le(alignment)).tensor("a", {1}, kF32);
  };
  EXPECT_REFUSED(parse_gguf_bytes(aligned(0).file("1234")), ErrorCode::kBadFile, "general.alignment is 0");
  EXPECT_REFUSED(parse_gguf_bytes(aligned(3).file("1234")), ErrorCode::kBadFile, "general.alignment is 3");
  EXPECT_REFUSED(parse_gguf_bytes(aligned(1u << 30).file("1234")), ErrorCode::kBadFile,
                 "truncated: needs 1073741828 bytes");
  EXPECT_REFUSED(parse_gguf_bytes(GgufBytes().key("general.alignment", kI32Type, le(32)).file()), ErrorCode::kBadFile,
                 "expected a 32-bit unsigned number");
  EXPECT_EQ(parse_gguf_bytes(aligned(64).file("1234", 64)).data_begin % 64, 0u);
  EXPECT_EQ(parse_gguf_bytes(aligned(1).file("1234", 1)).tensors[0].bytes, 4u);
  EXPECT_REFUSED(parse_gguf_bytes(GgufBytes().tensor("a", {1}, kF32, 4).file("12345678")), ErrorCode::kBadFile,
                 "no multiple of the alignment 32");
}

TEST(Gguf, NestedArraysAndUnknownTypesAreRefused) {  // G05
  std::string nested;
  for (int i = 0; i < 10000; ++i) nested += le(kArrayType) + le<uint64_t>(1);
  EXPECT_REFUSED(parse_gguf_bytes(GgufBytes().key("deep", kArrayType, nested).file()), ErrorCode::kBadFile,
                 "nested more than 4");
  EXPECT_REFUSED(parse_gguf_bytes(GgufBytes().key("odd", 13, "").file()), ErrorCode::kBadFile, "unknown value type 13");
  EXPECT_REFUSED(parse_gguf_bytes(GgufBytes().key("odd", kArrayType, le(99u) + le<uint64_t>(1)).file()),
                 ErrorCode::kBadFile, "unknown value type 99");
}

TEST(Gguf, CountsThatCannotBeAreRefusedBeforeAnythingIsAllocated) {
  const auto counts = [](uint64_t tensors, uint64_t keys) { return "GGUF" + le(3u) + le(tensors) + le(keys); };
  for (const uint64_t count : {uint64_t{2}, uint64_t{1} << 32, UINT64_MAX}) {
    EXPECT_REFUSED(parse_gguf_bytes(counts(count, 0)), ErrorCode::kBadFile, "the number of tensors promises");
    EXPECT_REFUSED(parse_gguf_bytes(counts(0, count)), ErrorCode::kBadFile, "the number of metadata entries promises");
    EXPECT_REFUSED(parse_gguf_bytes(GgufBytes().key("a", kArrayType, le(kTextType) + le(count << 3)).header()),
                   ErrorCode::kBadFile, "metadata 'a' promises");
    EXPECT_REFUSED(parse_gguf_bytes(GgufBytes().key("a", kTextType, le(count << 3)).header()), ErrorCode::kBadFile,
                   "metadata 'a' needs");
  }
}

TEST(Gguf, MetadataDoNotDecideSizes) {  // G07, G08: shapes do, and names say what a model is
  for (const uint32_t blocks : {33u, 1u << 31})
    EXPECT_EQ(parse_gguf_bytes(GgufBytes().key("llama.block_count", kU32Type, le(blocks)).file()).metadata.size(), 1u);
  EXPECT_TRUE(parse_gguf_bytes(GgufBytes().file()).metadata.empty());
  EXPECT_EQ(parse_gguf_bytes(GgufBytes().key("general.architecture", kTextType, gguf_text("pig")).file())
                .metadata.at("general.architecture"),
            "pig");
  EXPECT_REFUSED(parse_gguf_bytes(GgufBytes().key("general.architecture", kU32Type, le(1u)).file()),
                 ErrorCode::kBadFile,
                 "expected a text");  // G13
}

TEST(Gguf, EmptyTensorsAreFine) {  // G13
  const auto header =
      parse_gguf_bytes(GgufBytes().tensor("none", {0, 3}, kF16).tensor("a", {2}, kF32).file("12345678"));
  EXPECT_EQ(header.tensors[0].shape, (Shape{3, 0}));
  EXPECT_EQ(header.tensors[0].bytes, 0u);
}

TEST(Gguf, RowsAreWholeBlocks) {
  EXPECT_REFUSED(parse_gguf_bytes(GgufBytes().tensor("q", {48}, kQ4_0).file(std::string(36, '\0'))),
                 ErrorCode::kBadFile, "no whole number of blocks of Q4_0 (32 elements)");
  EXPECT_REFUSED(parse_gguf_bytes(GgufBytes().tensor("q", {128, 2}, kQ4_K).file(std::string(144, '\0'))),
                 ErrorCode::kBadFile, "no whole number of blocks of Q4_K");
}

TEST(Gguf, WhatIsDoubleOverlappingOrOutsideIsRefused) {
  EXPECT_REFUSED(
      parse_gguf_bytes(GgufBytes().tensor("a", {1}, kF32).tensor("a", {1}, kF32, 32).file(std::string(36, '\0'))),
      ErrorCode::kBadFile, "tensor 'a' twice");
  EXPECT_REFUSED(parse_gguf_bytes(GgufBytes().key("k", 7, "\1"s).key("k", 7, "\1"s).file()), ErrorCode::kBadFile,
                 "metadata 'k' is there twice");
  EXPECT_REFUSED(
      parse_gguf_bytes(GgufBytes().tensor("a", {9}, kF32).tensor("b", {1}, kF32, 32).file(std::string(36, '\0'))),
      ErrorCode::kBadFile, "tensors 'a' and 'b' overlap");
  EXPECT_REFUSED(parse_gguf_bytes(GgufBytes().tensor("a", {2}, kF32).file("1234")), ErrorCode::kBadFile,
                 "is truncated");
  EXPECT_REFUSED(parse_gguf_bytes(GgufBytes().tensor("a", {2}, kF32, UINT64_MAX - 31).file("1234")),
                 ErrorCode::kBadFile, "far outside");
}

TEST(Gguf, OtherVersionsAndTypesAreNamed) {
  const auto of_version = [](uint32_t version) { return GgufBytes{version, {}, {}}.file(); };
  EXPECT_REFUSED(parse_gguf_bytes(of_version(1)), ErrorCode::kUnsupported, "GGUF of version 1: expected 2 or 3");
  EXPECT_REFUSED(parse_gguf_bytes(of_version(4)), ErrorCode::kUnsupported, "GGUF of version 4");
  EXPECT_REFUSED(parse_gguf_bytes(of_version(0x03000000)), ErrorCode::kUnsupported, "big-endian");
  EXPECT_REFUSED(parse_gguf_bytes(GgufBytes().tensor("a", {256}, 15).file()), ErrorCode::kUnsupported,
                 "type 15, Q8_K, which");
  EXPECT_REFUSED(parse_gguf_bytes(GgufBytes().tensor("a", {256}, 99).file()), ErrorCode::kUnsupported,
                 "type 99, which");
}

TEST(Gguf, CutAnywhereItIsRefused) {
  GgufBytes bytes;
  bytes.key("general.name", kTextType, gguf_text("a model")).key("l", kArrayType, le(0u) + le<uint64_t>(2) + "xy");
  bytes.tensor("a", {2, 2}, kF32);
  const std::string whole = bytes.file(std::string(16, '\0'));
  for (size_t size = 4; size < whole.size(); ++size)
    EXPECT_REFUSED((void)parse_gguf_bytes(whole.substr(0, size)), ErrorCode::kBadFile, "test.gguf");
  EXPECT_EQ(parse_gguf_bytes(whole + "stray").tensors.size(), 1u);
}

}  // namespace
}  // namespace gesso
