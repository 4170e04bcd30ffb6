#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "io/tensor_file.h"
#include "tensor/quant/block_type.h"

namespace gesso {
namespace {

/// quant.safetensors: see tools/golden/quant.py.
class QuantTest : public testing::TestWithParam<BlockType> {
 protected:
  template <typename T>
  std::vector<T> golden(const std::string& name) const {
    const TensorInfo* tensor = find(name);
    if (!tensor) throw std::runtime_error("no golden " + name);
    const auto bytes = file_->read(*tensor);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  /// The blocks of rows of kWidth.
  static std::vector<uint8_t> quantise(const std::vector<float>& x, const float* importance) {
    const BlockType& type = GetParam();
    const int64_t row_bytes = *byte_size(type.dtype, kWidth), rows = static_cast<int64_t>(x.size()) / kWidth;
    std::vector<uint8_t> blocks(static_cast<size_t>(rows * row_bytes), 0xaa);
    for (int64_t row = 0; row < rows; ++row)
      type.quantise(x.data() + row * kWidth, kWidth, importance, blocks.data() + row * row_bytes);
    return blocks;
  }
  /// Those of x that the golden has blocks of.
  std::vector<float> rows() const {
    auto x = golden<float>("x");
    const auto blocks = golden<uint8_t>(std::string(GetParam().name) + ".plain");
    x.resize(blocks.size() / static_cast<size_t>(*byte_size(GetParam().dtype, kWidth)) * kWidth);
    return x;
  }
  static constexpr int64_t kWidth = 512;

 private:
  const TensorInfo* find(const std::string& name) const {
    for (const TensorInfo& t : file_->tensors())
      if (t.name == "golden." + name) return &t;
    return nullptr;
  }
  std::shared_ptr<const TensorFile> file_ = open_tensor_file(GESSO_TEST_DATA "/golden/quant.safetensors");
};

std::vector<uint32_t> bits(const std::vector<float>& values) {
  std::vector<uint32_t> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), [](float v) { return std::bit_cast<uint32_t>(v); });
  return result;
}

std::vector<uint8_t> random_bytes(unsigned seed, size_t count) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes;
  for (uint32_t word = 0; bytes.size() < count; word >>= 8) {
    if (bytes.size() % 4 == 0) word = static_cast<uint32_t>(random());
    bytes.push_back(static_cast<uint8_t>(word));
  }
  return bytes;
}

template <typename T>
int64_t crc(const std::vector<T>& values) {
  return static_cast<int64_t>(
      crc32(0, reinterpret_cast<const Bytef*>(values.data()), static_cast<uInt>(values.size() * sizeof(T))));
}

TEST_P(QuantTest, MeansWhatTheReferenceSays) {  // to the bit
  const BlockType& type = GetParam();
  const auto blocks = golden<uint8_t>(std::string(type.name) + ".blocks");
  const auto expected = golden<float>(std::string(type.name) + ".values");
  ASSERT_EQ(blocks.size() / static_cast<size_t>(type.bytes), expected.size() / static_cast<size_t>(type.elements));
  std::vector<float> values(expected.size());
  convert_to_f32(type.dtype, blocks.data(), values.data(), static_cast<int64_t>(values.size()));
  EXPECT_EQ(bits(values), bits(expected));
}

TEST_P(QuantTest, ReadsAnyRangeAsTheWholeReads) {
  const BlockType& type = GetParam();
  const auto blocks = random_bytes(5, 3 * static_cast<size_t>(type.bytes));
  std::vector<float> whole(3 * static_cast<size_t>(type.elements));
  const auto count = static_cast<int64_t>(whole.size());
  convert_to_f32(type.dtype, blocks.data(), whole.data(), count);
  const int64_t e = type.elements;
  const std::pair<int64_t, int64_t> ranges[] = {{0, count}, {1, count - 1},     {e, count},
                                                {5, 9},     {e - 3, 2 * e + 3}, {7, 7}};
  for (const auto& [begin, end] : ranges) {
    std::vector<float> part(static_cast<size_t>(end - begin));
    convert_range_to_f32(type.dtype, blocks.data(), begin, part.data(), end - begin);
    EXPECT_EQ(bits(part), bits({whole.begin() + begin, whole.begin() + end})) << begin << " to " << end;
  }
}

TEST_P(QuantTest, WritesTheBytesOfTheReference) {
  EXPECT_EQ(quantise(rows(), nullptr), golden<uint8_t>(std::string(GetParam().name) + ".plain"));
}

TEST_P(QuantTest, DigestsOfManyBlocksAreThoseOfTheReference) {
  const BlockType& type = GetParam();
  const auto digests = golden<int64_t>(std::string(type.name) + ".digests");
  ASSERT_EQ(digests.size(), 3u);

  constexpr size_t kBlocks = 512;
  const auto blocks = random_bytes(7, kBlocks * static_cast<size_t>(type.bytes));
  std::vector<float> values(kBlocks * static_cast<size_t>(type.elements));
  convert_to_f32(type.dtype, blocks.data(), values.data(), static_cast<int64_t>(values.size()));
  for (float& v : values)
    if (std::isnan(v)) v = __builtin_bit_cast(float, 0x7fc00000);
  EXPECT_EQ(crc(values), digests[0]);

  auto x = rows();
  constexpr size_t kRows = 32;
  const auto raw = random_bytes(8, kRows * kWidth * 8);
  for (size_t i = 0; i < kRows * kWidth; ++i) {
    int sum = -131070;
    for (size_t part = 8 * i; part < 8 * i + 8; part += 2) sum += raw[part] | raw[part + 1] << 8;
    x.push_back(std::ldexp(static_cast<float>(sum), -17 - static_cast<int>(i / kWidth % 8)));
  }
  const auto importance = golden<float>("importance");
  EXPECT_EQ(crc(quantise(x, nullptr)), digests[1]);
  EXPECT_EQ(crc(quantise(x, importance.data())), digests[2]);
}

TEST_P(QuantTest, ExtremeValuesAreDefined) {  // what they become is not told; the sanitizers see to the rest
  const BlockType& type = GetParam();
  constexpr float kMax = std::numeric_limits<float>::max(), kMin = std::numeric_limits<float>::denorm_min();
  const std::vector<float> patterns[] = {{0},           {kMax},           {-kMax, kMax}, {kMin},
                                         {-kMin, 0, 1}, {kMax, 1, -kMin}, {1e-20f, -3},  {NAN, INFINITY, -INFINITY, 1}};
  const std::vector<float> importance(256, 1);
  for (const auto& pattern : patterns) {
    std::vector<float> x(256), y(256);
    for (size_t i = 0; i < x.size(); ++i) x[i] = pattern[i % pattern.size()];
    std::vector<uint8_t> blocks(static_cast<size_t>(*byte_size(type.dtype, 256)));
    type.quantise(x.data(), 256, nullptr, blocks.data());
    type.quantise(x.data(), 256, importance.data(), blocks.data());
    convert_to_f32(type.dtype, blocks.data(), y.data(), 256);
  }
}

TEST_P(QuantTest, ZerosAmongValuesStayWhereTheyAre) {
  const BlockType& type = GetParam();
  constexpr int64_t kCount = 256;
  std::vector<float> x(kCount), y(kCount);
  for (int64_t i = 64; i < kCount; ++i) x[static_cast<size_t>(i)] = i % 2 ? 1.f : -1.f;
  std::vector<uint8_t> blocks(static_cast<size_t>(*byte_size(type.dtype, kCount)));
  type.quantise(x.data(), kCount, nullptr, blocks.data());
  convert_to_f32(type.dtype, blocks.data(), y.data(), kCount);
  // Types of one and two bits are off by up to 0.7 here; what lies in a wrong place would be off by 1.
  for (size_t i = 0; i < x.size(); ++i) EXPECT_LT(std::fabs(y[i] - x[i]), 0.75f) << i;
}

TEST_P(QuantTest, AnyBytesCanBeRead) {
  const BlockType& type = GetParam();
  std::mt19937 random(7);
  std::vector<uint8_t> block(static_cast<size_t>(type.bytes));
  std::vector<float> y(static_cast<size_t>(type.elements));
  for (int round = 0; round < 200; ++round) {
    for (uint8_t& byte : block) byte = static_cast<uint8_t>(round == 0 ? 0xff : random());
    type.dequantise(block.data(), y.data());
  }
}

TEST_P(QuantTest, SizesAreWholeBlocks) {
  const BlockType& type = GetParam();
  EXPECT_EQ(byte_size(type.dtype, 0), 0);
  EXPECT_EQ(byte_size(type.dtype, 3 * type.elements), 3 * type.bytes);
  EXPECT_EQ(byte_size(type.dtype, type.elements - 1), std::nullopt);
  EXPECT_EQ(byte_size(type.dtype, -type.elements), std::nullopt);
  EXPECT_EQ(dtype_from_string(type.name), type.dtype);
  EXPECT_EQ(to_string(type.dtype), type.name);
  EXPECT_EQ(dtype_of_ggml(type.ggml_type), type.dtype);
  EXPECT_EQ(ggml_type_of(type.dtype), type.ggml_type);
  EXPECT_TRUE(is_block(type.dtype));
  EXPECT_TRUE(is_float(type.dtype));
}

INSTANTIATE_TEST_SUITE_P(Types, QuantTest, testing::ValuesIn(block_types().begin(), block_types().end()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace gesso
