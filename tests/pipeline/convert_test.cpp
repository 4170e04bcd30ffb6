#include "pipeline/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <iterator>

#include "base/threads.h"
#include "io/safetensors_writer.h"
#include "io/tensor_file.h"
#include "temp_folder.h"

namespace gesso {
namespace {

using nlohmann::ordered_json;
using testing::TempFolder;

const std::string kTinySd1 = GESSO_TEST_DATA "/golden/tiny_sd1.safetensors";
const std::string kDemo = GESSO_SOURCE_DIR "/models/demo/gesso-demo.safetensors";
const EventSink kIgnore = [](const Event&) {};

ordered_json convert(ordered_json request, const EventSink& sink = kIgnore, const CancelToken& cancel = {}) {
  return convert_files(parse_convert_request(request.dump()), sink, cancel);
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const TensorInfo& find(const TensorFile& file, const std::string& name) {
  for (const TensorInfo& t : file.tensors())
    if (t.name == name) return t;
  throw std::runtime_error("no tensor " + name);
}

/// A file of tensors that count up from 0 in f32.
std::filesystem::path counting(const std::filesystem::path& path, const std::vector<TensorInfo>& tensors) {
  SafetensorsWriter writer(path, tensors);
  for (const TensorInfo& t : writer.tensors()) {
    std::vector<float> values(t.bytes / 4);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) - 8;
    writer.write(std::as_bytes(std::span(values)));
  }
  writer.finish();
  return path;
}

struct Convert : ::testing::Test {
  TempFolder folder;
  std::string output(const char* name) const { return (folder / name).string(); }
  DType type_of(const char* rules, const char* type, const std::string& name, DType stored, const Shape& shape,
                const char* ending = "out.gguf", bool sensitive = false) {
    ordered_json json{{"inputs", {"a"}}, {"output", ending}, {"tensor_type_rules", rules}};
    if (*type) json["type"] = type;
    return choose_type(parse_convert_request(json.dump()), {name, stored, shape, 0, 0}, sensitive).type;
  }
};

TEST_F(Convert, AsStoredIsTheSameBytes) {
  const auto report = convert({{"inputs", {kTinySd1}}, {"output", output("a.gguf")}});
  const auto before = open_tensor_file(kTinySd1), after = open_tensor_file(output("a.gguf"));
  EXPECT_EQ(after->format(), "gguf");
  ASSERT_EQ(after->tensors().size(), before->tensors().size());
  for (const TensorInfo& t : before->tensors()) {
    const TensorInfo& u = find(*after, t.name);
    EXPECT_EQ(u.shape, t.shape) << t.name;
    EXPECT_EQ(u.dtype, t.dtype) << t.name;
    EXPECT_TRUE(std::ranges::equal(before->read(t), after->read(u))) << t.name;
  }
  EXPECT_EQ(after->metadata(), before->metadata());
  EXPECT_TRUE(report["changed"].empty());

  convert({{"inputs", {output("a.gguf")}}, {"output", output("back.safetensors")}});
  const auto back = open_tensor_file(output("back.safetensors"));
  for (const TensorInfo& t : before->tensors())
    EXPECT_TRUE(std::ranges::equal(before->read(t), back->read(find(*back, t.name)))) << t.name;
}

TEST_F(Convert, GivesTheSameBytesForAnyNumberOfThreads) {
  const ordered_json request{{"inputs", {kTinySd1}}, {"type", "q4_k"}};
  std::string first;
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    auto json = request;
    json["output"] = output("q.gguf");
    convert(json);
    if (first.empty()) first = content(output("q.gguf"));
  }
  set_thread_count(0);
  EXPECT_EQ(content(output("q.gguf")), first);
}

TEST_F(Convert, MeasuresWhatItWrote) {
  const auto in =
      counting(folder / "in.safetensors", {{"w", DType::kF32, Shape{4, 256}}, {"b", DType::kF32, Shape{8}}});
  std::vector<std::string> stages;
  int steps = 0;
  const auto report =
      convert({{"inputs", {in.string()}}, {"output", output("o.gguf")}, {"type", "q8_0"}}, [&](const Event& e) {
        if (e.kind == Event::Kind::kStage) stages.push_back(e.stage);
        steps += e.kind == Event::Kind::kStep;
      });
  EXPECT_THAT(stages, ::testing::ElementsAre("convert", "verify"));
  EXPECT_EQ(steps, 4);
  ASSERT_EQ(report["types"].size(), 2u) << report.dump();
  const auto& types = report["types"][1];
  EXPECT_EQ(types["from"], "F32");
  EXPECT_EQ(types["to"], "Q8_0");
  EXPECT_EQ(types["tensors"], 1);
  EXPECT_GT(types["rmse"].get<double>(), 0);
  EXPECT_LT(types["max"].get<double>(), 8. / 127);  // half a level, and the rounding of the scale
  EXPECT_GT(types["cosine"].get<double>(), 0.9999);
  EXPECT_EQ(report["bytes"], std::filesystem::file_size(output("o.gguf")));
  EXPECT_FALSE(
      convert(
          {{"inputs", {in.string()}}, {"output", output("o.gguf")}, {"type", "q8_0"}, {"verify", false}})["types"][1]
          .contains("rmse"));
}

TEST_F(Convert, RulesDecideBeforeTheType) {
  const Shape matrix{64, 512};
  EXPECT_EQ(type_of("", "q4_K", "blocks.0.attn.weight", DType::kF16, matrix), DType::kQ4_K);
  EXPECT_EQ(type_of("attn=q8_0", "q4_K", "blocks.0.attn.weight", DType::kF16, matrix), DType::kQ8_0);
  EXPECT_EQ(type_of("attn=q8_0,0.attn=q5_0", "q4_K", "blocks.0.attn.weight", DType::kF16, matrix), DType::kQ5_0);
  EXPECT_EQ(type_of("^vae\\.=F16", "q4_K", "vae.w", DType::kF32, matrix), DType::kF16);
  EXPECT_EQ(type_of("^vae\\.=F16", "q4_K", "my.vae.w", DType::kF32, matrix), DType::kQ4_K);
  EXPECT_EQ(type_of("", "", "w", DType::kF32, matrix), DType::kF32);
  EXPECT_EQ(type_of("w=q8_0", "", "w", DType::kI32, matrix), DType::kI32) << "numbers are no weights";
}

TEST_F(Convert, SmallAndSensitiveTensorsKeepTheirType) {
  const auto sensitive = [&](const char* rules, const char* type) {
    return type_of(rules, type, "time_embed.0.weight", DType::kF32, {64, 512}, "out.gguf", true);
  };
  EXPECT_EQ(type_of("", "q4_K", "norm.weight", DType::kF32, {512}), DType::kF32);
  EXPECT_EQ(sensitive("", "q4_K"), DType::kF32);
  EXPECT_EQ(sensitive("time_embed=q4_K", "q8_0"), DType::kQ4_K);
  EXPECT_EQ(sensitive("", "f16"), DType::kF16) << "plain types are for all";
  EXPECT_EQ(type_of("", "f16", "norm.weight", DType::kF32, {512}), DType::kF16);
}

TEST_F(Convert, SensitiveLayersAreThoseOfTheNetwork) {
  const auto report = convert({{"inputs", {kDemo}}, {"output", output("o.gguf")}, {"type", "q8_0"}});
  const auto file = open_tensor_file(output("o.gguf"));
  const auto type = [&](const char* name) { return find(*file, name).dtype; };
  EXPECT_EQ(type("model.diffusion_model.time_embed.0.weight"), DType::kF16);
  EXPECT_EQ(type("cond_stage_model.transformer.text_model.embeddings.position_embedding.weight"), DType::kF16);
  EXPECT_EQ(type("first_stage_model.decoder.mid.attn_1.q.weight"), DType::kF16);
  EXPECT_EQ(type("model.diffusion_model.middle_block.1.transformer_blocks.0.attn1.to_q.weight"), DType::kQ8_0);
  EXPECT_THAT(report["text"].get<std::string>(),
              ::testing::HasSubstr("as F16, since sensitive layers keep their type"));
  // The names of a network that is not known: by what they have in common with others.
  const auto in = counting(folder / "in.safetensors",
                           {{"x_embedder.proj", DType::kF32, Shape{2, 32}}, {"w", DType::kF32, Shape{2, 32}}});
  convert({{"inputs", {in.string()}}, {"output", output("u.gguf")}, {"type", "q8_0"}});
  EXPECT_EQ(find(*open_tensor_file(output("u.gguf")), "x_embedder.proj").dtype, DType::kF32);
  EXPECT_EQ(find(*open_tensor_file(output("u.gguf")), "w").dtype, DType::kQ8_0);
}

TEST_F(Convert, RowsThatDoNotFitFallBack) {
  EXPECT_EQ(type_of("", "q4_K", "w", DType::kF32, {4, 96}), DType::kQ5_0);
  EXPECT_EQ(type_of("", "q6_K", "w", DType::kF32, {4, 96}), DType::kQ8_0);
  EXPECT_EQ(type_of("", "q3_K", "w", DType::kF32, {4, 96}), DType::kIQ4_NL);
  EXPECT_EQ(type_of("", "q8_0", "w", DType::kF32, {4, 4, 3, 3}), DType::kF16);
  EXPECT_EQ(type_of("", "q8_0", "w", DType::kBF16, {4, 4, 3, 3}), DType::kBF16);
  EXPECT_EQ(type_of("", "q8_0", "w", DType::kF32, {4, 64}, "o.safetensors"), DType::kF16);
  EXPECT_EQ(type_of("", "", "w", DType::kF8E4M3, {4, 64}), DType::kF16);
  EXPECT_EQ(type_of("", "", "w", DType::kF8E4M3, {4, 64}, "o.safetensors"), DType::kF8E4M3);
  EXPECT_THROW(type_of("", "", "w", DType::kU8, {4}), Error);
  const auto in = counting(folder / "in.safetensors", {{"conv", DType::kF32, Shape{4, 4, 3, 3}}});
  const auto report = convert({{"inputs", {in.string()}}, {"output", output("o.gguf")}, {"type", "q8_0"}});
  EXPECT_EQ(report["changed"][0]["tensor"], "conv");
  EXPECT_EQ(report["changed"][0]["to"], "F16");
  EXPECT_THAT(report["text"].get<std::string>(), ::testing::HasSubstr("rows of 3 do not fit blocks of Q8_0: 'conv'"));
}

TEST_F(Convert, SeveralFilesBecomeOne) {
  const auto a = counting(folder / "a.safetensors", {{"a", DType::kF32, Shape{2}}});
  const auto b = counting(folder / "b.safetensors", {{"b", DType::kF32, Shape{3}}});
  convert({{"inputs", {a.string(), b.string()}}, {"output", output("o.gguf")}});
  const auto file = open_tensor_file(output("o.gguf"));
  EXPECT_EQ(find(*file, "b").shape, Shape{3});
  EXPECT_REFUSED(convert({{"inputs", {a.string(), a.string()}}, {"output", output("p.gguf")}}), ErrorCode::kUsage,
                 "tensor 'a' is both in");
}

TEST_F(Convert, ValuesThatDoNotFitAreRefusedAndNothingRemains) {
  const auto in = folder / "in.safetensors";
  for (const float bad : {70000.f, INFINITY, NAN}) {
    SafetensorsWriter writer(in, {{"w", DType::kF32, Shape{1, 32}}});
    std::vector<float> values(32, bad);
    writer.write(std::as_bytes(std::span(values)));
    writer.finish();
    EXPECT_REFUSED(convert({{"inputs", {in.string()}}, {"output", output("o.gguf")}, {"type", "f16"}}),
                   ErrorCode::kNumeric, "tensor 'w'");
    convert({{"inputs", {in.string()}}, {"output", output("kept.gguf")}});
    std::filesystem::remove(output("kept.gguf"));
  }
  const CancelToken cancel;
  EXPECT_REFUSED(convert(
                     {{"inputs", {in.string()}}, {"output", output("o.gguf")}},
                     [&](const Event& e) {
                       if (e.kind == Event::Kind::kStep && e.stage == "verify") cancel.cancel();
                       if (e.kind == Event::Kind::kStep) cancel.cancel();
                     },
                     cancel),
                 ErrorCode::kCancelled, "cancelled");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST_F(Convert, RefusesRequestsThatCannotBe) {
  const auto parse = [](ordered_json json) { (void)parse_convert_request(json.dump()); };
  EXPECT_REFUSED((void)parse_convert_request("[]"), ErrorCode::kUsage, "not a JSON object");
  EXPECT_REFUSED(parse({{"inputs", {"a"}}, {"output", "a.bin"}}), ErrorCode::kUsage, ".gguf or .safetensors");
  EXPECT_REFUSED(parse({{"output", "a.gguf"}}), ErrorCode::kUsage, "no file");
  EXPECT_REFUSED(parse({{"inputs", {1}}}), ErrorCode::kUsage, "list of paths");
  EXPECT_REFUSED(parse({{"type", "q9_K"}}), ErrorCode::kUsage, "unknown type 'q9_K'; known: f32, f16");
  EXPECT_REFUSED(parse({{"tensor_type_rules", "a"}}), ErrorCode::kUsage, "expected REGEX=TYPE");
  EXPECT_REFUSED(parse({{"tensor_type_rules", "(=f16"}}), ErrorCode::kUsage, "no regular expression");
  EXPECT_REFUSED(parse({{"tensor_type_rules", std::string(1000, '(') + "=f16"}}), ErrorCode::kUsage,
                 "more than 256 characters");
  EXPECT_REFUSED(parse({{"colour", "red"}}), ErrorCode::kUsage, "unknown field \"colour\"");
  EXPECT_EQ(type_of("(a*)*b=q8_0", "", std::string(400, 'a'), DType::kF32, {1, 32}), DType::kF32);
  EXPECT_THROW(type_of("a=q8_0", "", std::string(600, 'a'), DType::kF32, {1, 32}), Error);
  EXPECT_REFUSED(convert({{"inputs", {kTinySd1}}, {"output", kTinySd1}}), ErrorCode::kUsage, "one of the inputs");
}

TEST_F(Convert, ScaledWeightsAreNotTornFromTheirScales) {  // S16
  const auto in = counting(folder / "in.safetensors", {{"w.weight", DType::kF32, Shape{2, 4}},
                                                       {"w.scale_weight", DType::kF32, Shape{1}},
                                                       {"w.scale_input", DType::kF32, Shape{1}},
                                                       {"scaled_fp8", DType::kF8E4M3, Shape{0}},
                                                       {"v.weight", DType::kF32, Shape{3}}});
  for (const ordered_json& request :
       {ordered_json{{"output", output("o.gguf")}}, ordered_json{{"output", output("o.safetensors")}, {"type", "f16"}},
        ordered_json{{"output", output("r.safetensors")}, {"tensor_type_rules", "w=f32"}}}) {
    auto json = request;
    json["inputs"] = {in.string()};
    const auto report = convert(json);
    EXPECT_THAT(report["notes"][0].get<std::string>(), ::testing::HasSubstr("scales of 1 weights"));
    const auto file = open_tensor_file(json["output"].get<std::string>());
    EXPECT_EQ(file->tensors().size(), 2u);
    const TensorInfo& w = find(*file, "w.weight");
    std::vector<float> values(8);
    convert_to_f32(w.dtype, file->read(w).data(), values.data(), 8);
    EXPECT_EQ(values, (std::vector<float>{64, 56, 48, 40, 32, 24, 16, 8})) << "times the scale, which is -8";
  }
  convert({{"inputs", {in.string()}}, {"output", output("copy.safetensors")}, {"tensor_type_rules", "v=f16"}});
  const auto copy = open_tensor_file(output("copy.safetensors"));
  EXPECT_EQ(copy->tensors().size(), 5u) << "a copy has both";
  EXPECT_EQ(find(*copy, "w.weight").dtype, DType::kF32);
}

TEST_F(Convert, AFullDiskLeavesNothingAndSaysWhatIsNeeded) {
  const auto in = counting(folder / "in.safetensors", {{"w", DType::kF32, Shape{1024, 64}}});
  struct Limit {  // of the size of files, in place of a small disk
    rlimit before;
    explicit Limit(rlim_t bytes) {
      std::signal(SIGXFSZ, SIG_IGN);
      getrlimit(RLIMIT_FSIZE, &before);
      const rlimit now{bytes, before.rlim_max};
      setrlimit(RLIMIT_FSIZE, &now);
    }
    ~Limit() { setrlimit(RLIMIT_FSIZE, &before); }
  };
  {
    const Limit limit(100'000);
    EXPECT_REFUSED(convert({{"inputs", {in.string()}}, {"output", output("o.gguf")}}), ErrorCode::kIo,
                   "o.gguf': File too large; the whole file needs 262");
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

}  // namespace
}  // namespace gesso
