#include "weights/scaling.h"

#include <cstring>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "support/golden.h"

namespace gesso {
namespace {

struct ScalingTest : ::testing::Test {
  Golden golden{"scaled"};
  CpuDevice cpu;

  std::optional<size_t> index(const std::string& name) const {
    for (size_t i = 0; i < golden.file->tensors().size(); ++i)
      if (golden.file->tensors()[i].name == name) return i;
    return std::nullopt;
  }

  std::shared_ptr<const Scaling> scaling(const std::string& name, const std::string& scale) const {
    std::string text;
    if (const auto format = index(name + ".comfy_quant")) {
      const auto bytes = golden.file->read(golden.file->tensors()[*format]);
      text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return Scaling::read(*golden.file, *index(name + ".weight"), index(name + scale), text);
  }

  Weight weight(WeightStore& store, const std::string& name, const std::string& scale) const {
    store.bind(name, {golden.file, *index(name + ".weight"), 0, 1, false, 1, scaling(name, scale)});
    return store.get(name, *store.shape(name));
  }

  std::vector<float> expected(const std::string& name) const {
    const TensorInfo& info = golden.file->tensors()[*index("golden." + name)];
    std::vector<float> values(static_cast<size_t>(info.shape.elements()));
    convert_to_f32(info.dtype, golden.file->read(info).data(), values.data(), info.shape.elements());
    return values;
  }

  void expect_refused(ErrorCode code, const std::string& name, const std::string& scale, const std::string& text,
                      const std::string& message) const {
    try {
      (void)Scaling::read(*golden.file, *index(name + ".weight"), index(name + scale), text);
      ADD_FAILURE() << name << " " << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      EXPECT_THAT(e.what(), ::testing::HasSubstr(message));
    }
  }
};

TEST_F(ScalingTest, EveryCodeOfTheEightBitFloatsIsTorchs) {
  for (const std::string name : {"codes_e4m3", "codes_e5m2"}) {
    const TensorInfo& codes = golden.file->tensors()[*index(name)];
    const auto wanted = golden.file->read(golden.file->tensors()[*index("golden." + name)]);
    float values[256];
    convert_to_f32(codes.dtype, golden.file->read(codes).data(), values, 256);
    for (int i = 0; i < 256; ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, wanted.data() + 4 * i, 4);
      if (std::isnan(values[i]))
        EXPECT_EQ(bits, 0x7fc00000u) << name << " " << i;
      else
        EXPECT_EQ(__builtin_bit_cast(uint32_t, values[i]), bits) << name << " " << i;
    }
  }
}

// One product in f32 each, as torch makes it: the same bits.
TEST_F(ScalingTest, EverySpellingAndShapeOfScales) {
  WeightStore store("thing");
  for (const auto& [name, scale] : {std::pair{"old_scalar", ".scale_weight"},
                                    {"new_scalar", ".weight_scale"},
                                    {"channel", ".weight_scale"},
                                    {"column", ".weight_scale"},
                                    {"int8", ".weight_scale"}})
    EXPECT_EQ(weight(store, name, scale)->values(), expected(name)) << name;

  const std::vector<float> grid = weight(store, "grid", ".weight_scale_inv")->values(), rows = expected("grid");
  const std::vector<float> numbers = expected("grid_rows");
  for (size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(grid[static_cast<size_t>(numbers[i / 132]) * 132 + i % 132], rows[i]) << i;
}

// The reference multiplies by the whole matrix; sums of up to 256 terms in another order differ in the last bits.
TEST_F(ScalingTest, RotatedRowsAreRotatedBack) {
  WeightStore store("thing");
  for (const std::string name : {"rotated_4", "rotated_64", "rotated_256"}) {
    const std::vector<float> values = weight(store, name, ".weight_scale")->values(), wanted = expected(name);
    ASSERT_EQ(values.size(), wanted.size());
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], wanted[i], 2e-6) << name << " " << i;
  }
}

TEST_F(ScalingTest, PartsRowsAndOtherTypesAreTheSameValues) {
  WeightStore store("thing");
  for (const auto& [name, scale] : {std::pair{"column", ".weight_scale"}, {"rotated_64", ".weight_scale"}}) {
    const Weight whole = weight(store, name, scale);
    const int64_t height = whole->shape()[0], width = whole->shape()[1];
    const std::vector<float> values = whole->values();
    const std::string part = std::string(name) + " part";
    store.bind(part, {golden.file, *index(std::string(name) + ".weight"), 1, static_cast<int>(height), false, 1,
                      scaling(name, scale)});
    EXPECT_EQ(store.get(part, {1, width})->values(),
              std::vector<float>(values.begin() + width, values.begin() + 2 * width));
    Tensor rows = cpu.empty({2, width}, DType::kF32);
    whole->read_rows(std::vector<int32_t>{2, 0}, rows);
    std::vector<float> wanted(values.begin() + 2 * width, values.begin() + 3 * width);
    wanted.insert(wanted.end(), values.begin(), values.begin() + width);
    EXPECT_EQ(to_values(rows), wanted);
    const std::vector<float> halves = to_values(whole->read(cpu, DType::kBF16));
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(halves[i], bf16_to_f32(f32_to_bf16(values[i])));

    const std::string turned = std::string(name) + " turned";
    store.bind(turned, {golden.file, *index(std::string(name) + ".weight"), 0, 1, true, 1, scaling(name, scale)});
    const std::vector<float> columns = store.get(turned, {width, height})->values();
    for (int64_t r = 0; r < height; ++r)
      for (int64_t c = 0; c < width; ++c)
        EXPECT_EQ(columns[static_cast<size_t>(c * height + r)], values[static_cast<size_t>(r * width + c)]);
  }
}

TEST_F(ScalingTest, ValuesDoNotDependOnWhereReadingBegins) {
  const auto rotated = scaling("rotated_64", ".weight_scale");
  const TensorInfo& info = golden.file->tensors()[*index("rotated_64.weight")];
  const std::byte* source = golden.file->read(info).data();
  std::vector<float> whole(384);
  rotated->to_f32(info.dtype, source, 0, whole.data(), 384);
  for (const auto& [begin, count] : {std::pair{0, 1}, {63, 2}, {127, 130}, {383, 1}}) {
    std::vector<float> part(static_cast<size_t>(count));
    rotated->to_f32(info.dtype, source, begin, part.data(), count);
    EXPECT_EQ(part, std::vector<float>(whole.begin() + begin, whole.begin() + begin + count));
  }
}

TEST_F(ScalingTest, RefusesWhatDoesNotFit) {
  using enum ErrorCode;
  expect_refused(kBadFile, "int8", ".absent", R"({"format": "int8_tensorwise"})", "'int8.weight'");
  expect_refused(kBadFile, "int8", ".comfy_quant", "", "wanted one scale for the tensor [4, 8]");
  expect_refused(kBadFile, "int8", ".weight_scale", "{", "wanted JSON");
  expect_refused(kBadFile, "int8", ".weight_scale", R"({"format": 3})", "wanted JSON");
  expect_refused(kBadFile, "int8", ".weight_scale", R"({"format": "float8_e4m3fn"})", "but the weight is I8");
  expect_refused(kUnsupported, "int8", ".weight_scale", R"({"format": "nvfp4"})", "'nvfp4'");
  const auto rotation = [](const char* rest) {
    return R"({"format": "int8_tensorwise", "convrot": )" + std::string(rest);
  };
  expect_refused(kBadFile, "int8", ".weight_scale", rotation("1}"), "neither true nor false");
  for (const char* size : {"8", "0", "-4", "2", "16384", "\"4\"", "4.5", "1e400"})
    expect_refused(kBadFile, "int8", ".weight_scale", rotation("true, \"convrot_groupsize\": ") + size + "}", "int8");
  expect_refused(kBadFile, "int8", ".weight_scale", rotation("true, \"convrot_groupsize\": 16}"), "groups of 16");
  expect_refused(kBadFile, "int8", ".weight_scale", rotation("true}"), "groups of 256");
}

}  // namespace
}  // namespace gesso
