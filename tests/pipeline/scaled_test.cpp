// Models of 8 bits with scales beside the weights, painted from end to end.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/files.h"
#include "device/cpu/cpu_device.h"
#include "io/safetensors_writer.h"
#include "pipeline/inspection.h"
#include "pipeline/model_files.h"
#include "pipeline/scalings.h"
#include "pipeline/stages.h"
#include "support/golden.h"
#include "temp_folder.h"

namespace gesso {
namespace {

struct OutTensor {
  TensorInfo info;
  std::vector<std::byte> bytes;
};

template <typename T>
OutTensor out_tensor(const std::string& name, DType dtype, const Shape& shape, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {{name, dtype, shape, 0, 0}, {bytes.begin(), bytes.end()}};
}

void write_tensors(const std::filesystem::path& path, const std::vector<OutTensor>& tensors,
                   const std::map<std::string, std::string>& metadata) {
  std::vector<TensorInfo> infos;
  for (const OutTensor& t : tensors) infos.push_back(t.info);
  SafetensorsWriter writer(path, infos, metadata);
  for (const OutTensor& t : tensors) writer.write(t.bytes);
  writer.finish();
}

/// The nearest code of E4M3.
uint8_t nearest_code(float x) {
  static const std::vector<float> codes = [] {
    std::vector<float> values;
    for (int i = 0; i < 127; ++i) values.push_back(f8e4m3_to_f32(static_cast<uint8_t>(i)));
    return values;
  }();
  const auto above = std::lower_bound(codes.begin(), codes.end(), std::fabs(x));
  auto best = above == codes.end() ? above - 1 : above;
  if (best != codes.begin() && std::fabs(x) - best[-1] < *best - std::fabs(x)) --best;
  return static_cast<uint8_t>((best - codes.begin()) | (x < 0 ? 0x80 : 0));
}

/// tiny_sd1 with the matrices of its UNet in 8 bits, each row with its scale or all with one.
struct ScaledModel : ::testing::Test {
  testing::TempFolder folder;
  std::shared_ptr<const TensorFile> plain = open_tensor_file(GESSO_TEST_DATA "/golden/tiny_sd1.safetensors");
  CpuDevice cpu;
  int scaled = 0;

  /// `ending` is that of the scales; empty: their product with the numbers is written, in f32.
  std::string write(const std::string& file, const std::string& ending, bool rows) {
    std::vector<OutTensor> tensors;
    scaled = 0;
    for (const TensorInfo& t : plain->tensors()) {
      if (t.name.starts_with("golden.")) continue;
      const auto bytes = plain->read(t);
      if (!t.name.starts_with("model.diffusion_model.") || t.shape.rank() != 2 || !t.name.ends_with(".weight")) {
        tensors.push_back({{t.name, t.dtype, t.shape, 0, 0}, {bytes.begin(), bytes.end()}});
        continue;
      }
      ++scaled;
      std::vector<float> values(static_cast<size_t>(t.shape.elements())), scales;
      convert_to_f32(t.dtype, bytes.data(), values.data(), t.shape.elements());
      const auto width = static_cast<size_t>(rows ? t.shape[1] : t.shape.elements());
      std::vector<uint8_t> codes(values.size());
      for (size_t begin = 0; begin < values.size(); begin += width) {
        float largest = 0;
        for (size_t i = begin; i < begin + width; ++i) largest = std::max(largest, std::fabs(values[i]));
        scales.push_back(largest / 448);
        for (size_t i = begin; i < begin + width; ++i) {
          codes[i] = nearest_code(values[i] / scales.back());
          values[i] = f8e4m3_to_f32(codes[i]) * scales.back();
        }
      }
      if (ending.empty()) {
        tensors.push_back(out_tensor(t.name, DType::kF32, t.shape, values));
        continue;
      }
      const std::string stem = t.name.substr(0, t.name.size() - 7);
      tensors.push_back(out_tensor(t.name, DType::kF8E4M3, t.shape, codes));
      tensors.push_back(out_tensor(stem + ending, DType::kF32,
                                   rows ? Shape{static_cast<int64_t>(scales.size()), 1} : Shape{}, scales));
      if (ending == ".scale_weight")
        tensors.push_back(out_tensor(stem + ".scale_input", DType::kF32, Shape{}, std::vector<float>{1}));
    }
    if (ending == ".scale_weight")
      tensors.push_back(
          out_tensor("model.diffusion_model.scaled_fp8", DType::kF8E4M3, Shape{0}, std::vector<uint8_t>{}));
    write_tensors(folder / file, tensors, plain->metadata());
    return (folder / file).string();
  }

  std::vector<uint8_t> paint(const std::string& model) {
    Request r;
    r.model = model;
    r.prompt = "a cat";
    r.width = r.height = 64;
    r.steps = 2;
    r.cfg_scale = 3;
    r.seed = 1;
    r.sampling_method = "euler";
    r.scheduler = "discrete";
    r.rng = "cpu";
    const LoadedModel loaded = load_model(r);
    EXPECT_TRUE(loaded.messages.empty()) << loaded.messages.front();
    r.prediction = loaded.model->denoising().prediction;
    r.clip_skip = loaded.model->defaults().clip_skip;
    const EventSink ignore = [](const Event&) {};
    const Work work{*loaded.model, cpu, r, DType::kF32, ignore};
    return decode(work, denoise(work, encode_text(work), encode_canvas(work, nullptr), r.seed));
  }
};

TEST_F(ScaledModel, PaintsWhatItsProductsPaintInEverySpelling) {  // S13, S14
  for (const bool rows : {false, true}) {
    const std::vector<uint8_t> expected = paint(write("products.safetensors", "", rows));
    for (const char* ending : {".scale_weight", ".weight_scale"})
      EXPECT_EQ(paint(write("scaled.safetensors", ending, rows)), expected) << ending << rows;
  }
}

TEST_F(ScaledModel, EveryTensorIsToldOf) {
  const std::string path = write("scaled.safetensors", ".scale_weight", false);
  const Inspection found = inspect_files({path});
  const Json& file = found.json["files"][0];
  EXPECT_EQ(file["unknown_count"], 0);
  EXPECT_EQ(file["scale_tensors"], scaled);
  EXPECT_EQ(file["input_scale_tensors"], scaled);
  EXPECT_EQ(file["components"][0]["scaled"], scaled);
  EXPECT_EQ(file["markers"], Json::array({"scaled_fp8"}));
  EXPECT_THAT(found.text, ::testing::HasSubstr(fmt::format("not used: {} scales of inputs", scaled)));
}

TEST_F(ScaledModel, ScalesThatCannotBeReadAreRefusedWhereTheModelIsLoaded) {
  const auto refused = [&](const OutTensor& more, ErrorCode code, const std::string& message,
                           const std::map<std::string, std::string>& metadata = {}) {
    std::vector<OutTensor> tensors;
    for (const TensorInfo& t : plain->tensors()) {
      const auto bytes = plain->read(t);
      if (!t.name.starts_with("golden."))
        tensors.push_back({{t.name, t.dtype, t.shape, 0, 0}, {bytes.begin(), bytes.end()}});
    }
    tensors.push_back(more);
    write_tensors(folder / "bad.safetensors", tensors, metadata);
    (void)inspect_files({folder / "bad.safetensors"});  // can be looked at all the same
    try {
      Request r;
      r.model = (folder / "bad.safetensors").string();
      (void)load_model(r);
      ADD_FAILURE() << message;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      EXPECT_THAT(e.what(), ::testing::HasSubstr(message));
    }
  };
  using enum ErrorCode;
  const std::string stem = "model.diffusion_model.out.2";
  refused(out_tensor(stem + ".weight_scale", DType::kF32, Shape{77}, std::vector<float>(77, 1)), kBadFile,
          "wanted one scale for the tensor");
  refused(out_tensor(stem + ".weight_scale", DType::kF32, Shape{}, std::vector<float>{NAN}), kBadFile, "not finite");
  refused(out_tensor(stem + ".weight_scale", DType::kI32, Shape{}, std::vector<int32_t>{1}), kBadFile, "found I32");
  refused(out_tensor(stem + ".comfy_quant", DType::kU8, Shape{2}, std::vector<uint8_t>{'{', '}'}), kBadFile,
          "\"format\"");
  refused(out_tensor(stem + ".comfy_quant", DType::kF32, Shape{1}, std::vector<float>{1}), kBadFile, "JSON text as U8");
  refused(out_tensor(stem + ".weight_scale_2", DType::kF32, Shape{}, std::vector<float>{1}), kBadFile,
          "lacks its scale");
  refused(out_tensor("golden.x", DType::kF32, Shape{}, std::vector<float>{1}), kUnsupported, "'nvfp4'",
          {{"_quantization_metadata", R"({"layers": {")" + stem + R"(": {"format": "nvfp4"}}})"}});
  refused(out_tensor("golden.x", DType::kF32, Shape{}, std::vector<float>{1}), kBadFile, "\"layers\"",
          {{"_quantization_metadata", "[]"}});
}

}  // namespace
}  // namespace gesso
