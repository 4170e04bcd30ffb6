// Importance from painting to quantising.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/threads.h"
#include "io/imatrix.h"
#include "io/safetensors_writer.h"
#include "models/recognise.h"
#include "pipeline/convert.h"
#include "pipeline/engine.h"
#include "temp_folder.h"
#include "tensor/quant/block_type.h"

namespace gesso {
namespace {

struct ImatrixRun : ::testing::Test {
  testing::TempFolder folder;
  const std::string model = GESSO_TEST_DATA "/golden/tiny_sd1.safetensors";

  Imatrix paint(const std::string& out, const std::vector<std::string>& in, int threads, const std::string& prompt) {
    EngineOptions options;
    options.imatrix_out = (folder / out).string();
    options.imatrix_in = in;
    Request r;
    r.model = model;
    r.prompt = prompt;
    r.steps = 2;
    r.width = r.height = 64;
    r.seed = 3;
    r.threads = threads;
    r.precision = "f32";
    (void)make_engine(options)->generate(r, [](const Event&) {}, {});
    return read_imatrix(options.imatrix_out);
  }
  Json convert(Json request) {
    request["output"] = (folder / "o.gguf").string();
    return convert_files(parse_convert_request(request.dump()), [](const Event&) {}, {});
  }
};

TEST_F(ImatrixRun, EveryMatrixOfTheModelIsSeen) {
  const Imatrix seen = paint("a.gguf", {}, 1, "a cat");
  const auto file = open_tensor_file(model);
  size_t matrices = 0;
  for (const TensorInfo& t : file->tensors()) {
    if (!t.name.starts_with("model.diffusion_model.") || t.shape.rank() != 2) continue;
    ++matrices;
    const auto found = seen.entries.find(t.name);
    ASSERT_NE(found, seen.entries.end()) << t.name;
    EXPECT_EQ(static_cast<int64_t>(found->second.sums.size()), t.shape[1]) << t.name;
  }
  EXPECT_GT(matrices, 20u);
  EXPECT_TRUE(seen.entries.contains("text_encoders.clip_l.transformer.text_model.encoder.layers.0.mlp.fc1.weight"));
  const Imatrix again = paint("b.gguf", {}, 3, "a cat");
  for (const auto& [name, importance] : seen.entries) EXPECT_EQ(again.entries.at(name).sums, importance.sums) << name;

  const Imatrix other = paint("c.gguf", {}, 1, "a dog");
  Imatrix sum = seen;
  sum.merge(other);
  const Imatrix merged = paint("d.gguf", {(folder / "a.gguf").string()}, 1, "a dog");
  for (const auto& [name, importance] : sum.entries) {
    EXPECT_EQ(merged.entries.at(name).rows, importance.rows) << name;
    for (size_t i = 0; i < importance.sums.size(); ++i)  // the file holds f32
      EXPECT_NEAR(merged.entries.at(name).sums[i], importance.sums[i], 1e-6 * importance.sums[i]) << name;
  }
}

TEST_F(ImatrixRun, QuantisersWeighByIt) {
  std::vector<float> values, means;
  for (int i = 0; i < 512; ++i) values.push_back(std::sin(static_cast<float>(i * i)));
  for (int i = 0; i < 256; ++i) means.push_back(i % 5 == 0 ? 9.f : 0.25f);
  SafetensorsWriter writer(folder / "in.safetensors", {{"w.weight", DType::kF32, Shape{2, 256}}});
  writer.write(std::as_bytes(std::span(values)));
  writer.finish();
  Imatrix imatrix;
  imatrix.entries["w.weight"] = {{means.begin(), means.end()}, 1, 1};
  write_imatrix(folder / "m.dat", imatrix);
  for (const char* type : {"q3_K", "q4_K", "q4_0", "iq2_xxs"}) {
    const Json report = convert(
        {{"inputs", {(folder / "in.safetensors").string()}}, {"type", type}, {"imatrix", (folder / "m.dat").string()}});
    EXPECT_EQ(report["notes"][0], "1 tensors are quantised by importance, 0 without");
    const auto file = open_tensor_file(folder / "o.gguf");
    const BlockType& block = *find_block_type(file->tensors()[0].dtype);
    const auto bytes = file->read(file->tensors()[0]);
    std::vector<uint8_t> wanted(bytes.size());
    for (size_t row = 0; row < 2; ++row)
      block.quantise(&values[row * 256], 256, means.data(), &wanted[row * bytes.size() / 2]);
    EXPECT_TRUE(std::ranges::equal(bytes, std::as_bytes(std::span(wanted)))) << type;
  }
}

TEST_F(ImatrixRun, NamesOfAnyLayoutAreFound) {
  (void)paint("a.dat", {}, 1, "a cat");
  for (const char* names : {"ldm", "diffusers"}) {
    const Json report = convert({{"inputs", {model}},
                                 {"type", "q8_0"},
                                 {"tensor_type_rules", "to_q=q4_0"},
                                 {"names", names},
                                 {"imatrix", {(folder / "a.dat").string()}}});
    const std::string note = report["notes"].back();  // what is without are pictures that the golden holds besides
    EXPECT_THAT(note, ::testing::HasSubstr("tensors are quantised by importance, 3 without")) << names;
  }
}

TEST_F(ImatrixRun, RefusesThatOfAnotherModel) {
  Imatrix imatrix;
  const auto refused = [&](ErrorCode code, const std::string& message) {
    write_imatrix(folder / "m.dat", imatrix);
    try {
      (void)convert({{"inputs", {model}}, {"type", "q8_0"}, {"imatrix", (folder / "m.dat").string()}});
      ADD_FAILURE() << message;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      EXPECT_THAT(e.what(), ::testing::HasSubstr(message));
    }
  };
  imatrix.entries["other.weight"] = {{1}, 1, 1};
  refused(ErrorCode::kUsage, "none of its 1 entries");
  const auto file = open_tensor_file(model);
  for (const TensorInfo& t : file->tensors()) imatrix.entries[t.name] = {{1}, 1, 1};
  refused(ErrorCode::kBadFile, "made with another model");
}

}  // namespace
}  // namespace gesso
