#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <tuple>

#include "gesso/gesso.h"

extern "C" int run_c99_client(void);

namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Free {
  void operator()(gesso_engine* engine) const { gesso_close(engine); }
  void operator()(gesso_result* result) const { gesso_result_free(result); }
  void operator()(char* text) const { gesso_free(text); }
  void operator()(uint8_t* bytes) const { gesso_free(bytes); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

class CApi : public testing::Test {
 protected:
  Owned<gesso_engine> engine{gesso_open(nullptr, nullptr)};
  gesso_error error = {GESSO_OK, ""};

  Owned<gesso_result> paint(const std::string& request) {
    gesso_result* result = nullptr;
    status = gesso_generate(engine.get(), request.c_str(), nullptr, nullptr, &result, &error);
    return Owned<gesso_result>(result);
  }
  gesso_status status = GESSO_OK;
};

TEST(Benchmark, OptionsAreChecked) {
  gesso_error error = {};
  for (const char* options : {"[]", "{", R"({"names": "norm"})", R"({"threads": -1})", R"({"threads": 1e9})",
                              R"({"thread": 1})", R"({"names": ["no such"]})"}) {
    EXPECT_EQ(gesso_bench(options, nullptr, nullptr, &error), nullptr) << options;
    EXPECT_EQ(error.code, GESSO_USAGE) << options;
  }
  EXPECT_NE(std::string(error.message).find("matmul"), std::string::npos) << error.message;
}

TEST_F(CApi, WorksFromC) {
  EXPECT_EQ(run_c99_client(), 0) << "line of c99_client.c";
}

TEST_F(CApi, EveryErrorCodeComesThrough) {
  for (int code = GESSO_USAGE; code <= GESSO_INTERNAL; ++code) {
    const std::string name = gesso_status_name(static_cast<gesso_status>(code));
    EXPECT_FALSE(paint(R"({"prompt":"fail )" + name + R"( for a reason"})"));
    EXPECT_EQ(status, code) << name;
    EXPECT_EQ(error.code, code);
    EXPECT_STREQ(error.message, "for a reason");
  }
  EXPECT_STREQ(gesso_status_name(GESSO_OK), "ok");
  EXPECT_STREQ(gesso_status_name(99), "unknown");
}

TEST_F(CApi, PicturesAreUpscaled) {
  const auto folder = std::filesystem::temp_directory_path() / ("gesso capi upscale " + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string in = (folder / "in.png").string();
  const Owned<gesso_result> painted = paint(R"({"prompt":"a house","width":64,"height":64})");
  ASSERT_TRUE(painted);
  ASSERT_TRUE(Owned<char>(gesso_save_pictures(painted.get(), in.c_str(), -1, 0, &error))) << error.message;
  const std::string request = json{{"inputs", {in, in}}, {"filter", "nearest"}, {"scale", 2}}.dump();
  std::vector<std::string> stages;
  const auto on_event = [](const gesso_event* event, void* user) {
    if (event->kind == GESSO_EVENT_STAGE) static_cast<std::vector<std::string>*>(user)->push_back(event->stage);
  };
  gesso_result* raw = nullptr;
  ASSERT_EQ(gesso_upscale(engine.get(), request.c_str(), on_event, &stages, &raw, &error), GESSO_OK) << error.message;
  const Owned<gesso_result> result(raw);
  EXPECT_EQ(gesso_result_count(result.get()), 2u);
  gesso_picture picture = {};
  ASSERT_EQ(gesso_result_picture(result.get(), 1, &picture, &error), GESSO_OK);
  EXPECT_EQ(picture.width, 128);
  EXPECT_THAT(picture.parameters, HasSubstr("Postprocess upscaler: Nearest"));
  EXPECT_EQ(gesso_result_request(result.get()), request);
  EXPECT_EQ(stages, (std::vector<std::string>{"upscale", "upscale"}));

  EXPECT_EQ(gesso_check_upscale_request(request.c_str(), &error), GESSO_OK);
  EXPECT_EQ(gesso_check_upscale_request(R"({"inputs":["a.png"]})", &error), GESSO_USAGE);
  EXPECT_THAT(error.message, HasSubstr("model: missing"));
  EXPECT_EQ(gesso_upscale(engine.get(), "{}", nullptr, nullptr, &raw, &error), GESSO_USAGE);
  EXPECT_EQ(raw, nullptr);
  EXPECT_EQ(gesso_upscale(engine.get(), nullptr, nullptr, nullptr, &raw, &error), GESSO_USAGE);
  EXPECT_EQ(gesso_upscale(engine.get(), request.c_str(), nullptr, nullptr, nullptr, &error), GESSO_USAGE);
  const std::string missing = json{{"inputs", {"/none.png"}}, {"filter", "nearest"}, {"scale", 2}}.dump();
  EXPECT_EQ(gesso_upscale(engine.get(), missing.c_str(), nullptr, nullptr, &raw, &error), GESSO_NOT_FOUND);
  std::filesystem::remove_all(folder);
}

TEST_F(CApi, ARequestIsCheckedWithoutAnEngine) {
  EXPECT_EQ(gesso_check_request(R"({"prompt":"x","steps":3})", &error), GESSO_OK);
  EXPECT_EQ(gesso_check_request(R"({"prompt":"x","steps":0})", &error), GESSO_USAGE);
  EXPECT_THAT(error.message, HasSubstr("steps"));
  EXPECT_EQ(gesso_check_request("[", nullptr), GESSO_USAGE);
  EXPECT_EQ(gesso_check_request(nullptr, &error), GESSO_USAGE);
}

TEST_F(CApi, APictureTellsWhatItIs) {
  const Owned<gesso_result> result = paint(R"({"prompt":"a house","seed":5})");
  for (const char* format : {"png", "jpg", "webp"}) {
    uint8_t* raw = nullptr;
    size_t size = 0;
    ASSERT_EQ(gesso_encode_picture(result.get(), 0, format, 0, &raw, &size, &error), GESSO_OK) << error.message;
    const Owned<uint8_t> bytes(raw);
    const Owned<char> info(gesso_picture_info(raw, size, &error));
    ASSERT_TRUE(info) << error.message;
    const json parsed = json::parse(info.get());
    EXPECT_THAT(parsed["parameters"].get<std::string>(), HasSubstr("a house"));
    EXPECT_EQ(parsed["fields"]["Prompt"].get<std::string>().substr(0, 7), "a house");
    EXPECT_EQ(parsed["request"]["seed"], 5);
  }
  EXPECT_EQ(gesso_picture_info(reinterpret_cast<const uint8_t*>("text"), 4, &error), nullptr);
  EXPECT_EQ(error.code, GESSO_BAD_FILE);
  EXPECT_EQ(gesso_picture_info(nullptr, 0, &error), nullptr);
}

TEST_F(CApi, NothingIsThrown) {
  EXPECT_FALSE(paint(R"({"prompt":"throw"})"));
  EXPECT_EQ(status, GESSO_INTERNAL);
  EXPECT_STREQ(error.message, "unknown exception");
  EXPECT_FALSE(paint(R"({"prompt":"a","steps":0})"));
  EXPECT_EQ(status, GESSO_USAGE);
}

TEST_F(CApi, NullIsRefused) {
  EXPECT_EQ(gesso_generate(nullptr, "{}", nullptr, nullptr, nullptr, &error), GESSO_USAGE);
  EXPECT_EQ(gesso_generate(engine.get(), nullptr, nullptr, nullptr, nullptr, nullptr), GESSO_USAGE);
  EXPECT_EQ(gesso_plan(engine.get(), nullptr, &error), nullptr);
  EXPECT_EQ(gesso_inspect(engine.get(), nullptr, 1, &error), nullptr);
  EXPECT_EQ(gesso_inspect(engine.get(), nullptr, 0, &error), nullptr);
  EXPECT_EQ(gesso_list_tensors(nullptr, 1, &error), nullptr);
  EXPECT_EQ(error.code, GESSO_USAGE);
  const char* const tiny = GESSO_TEST_DATA "/golden/clip_l.safetensors";
  const Owned<char> listed(gesso_list_tensors(&tiny, 1, &error));
  ASSERT_TRUE(listed) << error.message;
  EXPECT_NE(std::string(listed.get()).find("\"use\""), std::string::npos);
  EXPECT_EQ(gesso_read_picture_request(nullptr, &error), nullptr);
  EXPECT_EQ(gesso_result_picture(nullptr, 0, nullptr, &error), GESSO_USAGE);
  EXPECT_EQ(gesso_result_count(nullptr), 0u);
  gesso_result_free(nullptr);
  gesso_cancel(nullptr, 0);
  gesso_close(nullptr);
  gesso_free(nullptr);
}

TEST_F(CApi, ALongMessageIsCutOnACharactersBorder) {
  std::string text = "x";
  while (text.size() < 4000) text += "é";
  paint(json{{"prompt", "fail io " + text}}.dump());
  const std::string message = error.message;
  EXPECT_EQ(message.size(), sizeof error.message - 1);
  EXPECT_EQ(message, text.substr(0, message.size()));
  EXPECT_NO_THROW(static_cast<void>(json(message).dump()));  // valid UTF-8
}

TEST_F(CApi, AMessageIsOneLine) {
  paint(json{{"prompt", "fail io a\nb\x1B[2J"}}.dump());
  EXPECT_STREQ(error.message, "a b [2J");
}

TEST_F(CApi, TheConfigurationIsChecked) {
  for (const char* bad : {"", "[]", R"({"thread":1})", R"({"threads":"x"})", R"({"memory":"x"})"}) {
    EXPECT_FALSE(Owned<gesso_engine>(gesso_open(bad, &error))) << bad;
    EXPECT_EQ(error.code, GESSO_USAGE) << bad;
  }
  EXPECT_TRUE(Owned<gesso_engine>(gesso_open(R"({"threads":2,"memory":"8GiB"})", &error)));
}

struct Canceller {
  gesso_engine* engine;
  int steps = 0;
};

void cancel_at_second_step(const gesso_event* event, void* user) {
  auto& canceller = *static_cast<Canceller*>(user);
  if (event->kind != GESSO_EVENT_STEP) return;
  if (++canceller.steps == 2) std::thread([&] { gesso_cancel(canceller.engine, event->job); }).join();
}

TEST_F(CApi, CancelStopsWithinAStep) {
  Canceller canceller{engine.get()};
  gesso_result* result = nullptr;
  EXPECT_EQ(gesso_generate(engine.get(), R"({"prompt":"a","steps":1000})", cancel_at_second_step, &canceller, &result,
                           &error),
            GESSO_CANCELLED);
  EXPECT_EQ(canceller.steps, 2);
  EXPECT_EQ(result, nullptr);
  gesso_cancel(engine.get(), 1);  // no longer running
  EXPECT_TRUE(paint(R"({"prompt":"a"})"));
}

void expect_started_first(const gesso_event* event, void* user) {
  auto& events = *static_cast<int*>(user);
  EXPECT_EQ(event->kind == GESSO_EVENT_STARTED, events++ == 0);
  EXPECT_NE(event->job, 0u);
  EXPECT_TRUE(event->stage && event->text);
}

TEST_F(CApi, TheFirstEventTellsTheJob) {
  int events = 0;
  gesso_result* result = nullptr;
  gesso_generate(engine.get(), R"({"prompt":"a"})", expect_started_first, &events, &result, &error);
  EXPECT_GT(events, 5);
  gesso_result_free(result);
}

TEST_F(CApi, TheResolvedRequestTellsEveryChoice) {
  const auto result = paint(R"({"prompt":"a","seed":-1,"batch_count":2})");
  const json request = json::parse(gesso_result_request(result.get()));
  EXPECT_GE(request["seed"], 0);
  EXPECT_EQ(request["steps"], 4);
  gesso_picture second;
  ASSERT_EQ(gesso_result_picture(result.get(), 1, &second, nullptr), GESSO_OK);
  EXPECT_EQ(json::parse(second.request)["seed"], request["seed"].get<int64_t>() + 1);
}

TEST_F(CApi, PlanAndInspect) {
  const Owned<char> plan(gesso_plan(engine.get(), R"({"prompt":"a","steps":9})", &error));
  ASSERT_TRUE(plan);
  EXPECT_EQ(json::parse(plan.get())["text"], "9 steps");
  const char* paths[] = {GESSO_SOURCE_DIR, GESSO_TEST_DATA};
  const Owned<char> found(gesso_inspect(engine.get(), paths, 2, &error));
  ASSERT_TRUE(found);
  EXPECT_EQ(json::parse(found.get())["files"].size(), 2u);
  const char* missing[] = {"no/such\xFF.file"};  // no UTF-8, yet a name a file can have
  EXPECT_EQ(gesso_inspect(engine.get(), missing, 1, &error), nullptr);
  EXPECT_EQ(error.code, GESSO_NOT_FOUND);
}

TEST_F(CApi, ModelsComeAndGo) {
  const auto names = [&] {
    const Owned<char> list(gesso_models(engine.get(), &error));
    std::string text;
    for (const json& model : json::parse(list.get())) text += model["name"].get<std::string>() + " ";
    return text;
  };
  EXPECT_EQ(names(), "");
  const Owned<char> loaded(gesso_load(engine.get(), R"({"model":"/a/one.gguf"})", &error));
  ASSERT_TRUE(loaded) << error.message;
  EXPECT_EQ(json::parse(loaded.get())["files"], json({"/a/one.gguf"}));
  EXPECT_TRUE(paint(R"({"prompt":"a","model":"/a/two.gguf"})"));
  EXPECT_EQ(names(), "two one ");
  EXPECT_EQ(gesso_unload(engine.get(), "/a/three.gguf", 0, &error), 0);
  EXPECT_EQ(gesso_unload(engine.get(), nullptr, 1000, &error), 0) << "none is idle for so long";
  EXPECT_EQ(gesso_unload(engine.get(), "/a/one.gguf", 0, &error), 1);
  EXPECT_EQ(names(), "two ");
  EXPECT_EQ(gesso_unload(engine.get(), nullptr, 0, nullptr), 1);
  EXPECT_EQ(names(), "");

  for (const double idle : {-1.0, 1e300, std::nan("")}) {
    EXPECT_EQ(gesso_unload(engine.get(), nullptr, idle, &error), -1);
    EXPECT_EQ(error.code, GESSO_USAGE);
  }
  EXPECT_EQ(gesso_unload(nullptr, nullptr, 0, &error), -1);
  EXPECT_EQ(gesso_models(nullptr, &error), nullptr);
  for (const char* bad : {"[]", "{", R"({"model":5})", R"({"modle":"x"})"}) {
    EXPECT_EQ(gesso_load(engine.get(), bad, &error), nullptr) << bad;
    EXPECT_EQ(error.code, GESSO_USAGE) << bad;
  }
  EXPECT_EQ(gesso_load(engine.get(), R"({"model":"fail bad_file it is damaged"})", &error), nullptr);
  EXPECT_EQ(error.code, GESSO_BAD_FILE);
}

TEST_F(CApi, TokensAreCounted) {
  for (const auto& [request, prompt, negative] : {std::tuple(R"({"prompt":"house","negative_prompt":"red"})", 5, 3),
                                                  std::tuple(R"({"prompt":""})", 0, 0), std::tuple("{}", 0, 0)}) {
    const Owned<char> text(gesso_count_tokens(engine.get(), request, &error));
    ASSERT_TRUE(text) << request << error.message;
    const json counts = json::parse(text.get());
    EXPECT_EQ(counts["prompt"][0], (json{{"encoder", "fake"}, {"tokens", prompt}, {"room", 75}, {"chunks", 1}}));
    EXPECT_EQ(counts["negative_prompt"][0]["tokens"], negative);
  }
  EXPECT_EQ(gesso_count_tokens(engine.get(), R"({"prompt":5})", &error), nullptr);
  EXPECT_EQ(error.code, GESSO_USAGE);
  EXPECT_EQ(gesso_count_tokens(engine.get(), nullptr, &error), nullptr);
}

TEST_F(CApi, SchemaAndVersion) {
  EXPECT_TRUE(json::parse(gesso_schema())["properties"].contains("prompt"));
  EXPECT_THAT(gesso_version(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

class SavedPictures : public CApi {
 protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("gesso capi é模 " + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  Owned<char> save(const Owned<gesso_result>& result, const std::string& name) {
    return Owned<char>(gesso_save_pictures(result.get(), name.c_str(), -1, 0, &error));
  }
  std::filesystem::path folder;
};

struct PreviewSaver {
  std::string path;
  std::vector<std::pair<int, uint8_t>> shown;  // step, and the first byte
  std::vector<size_t> encoded;
};

void save_preview(const gesso_event* event, void* user) {
  auto& saver = *static_cast<PreviewSaver*>(user);
  gesso_error error = {};
  uint8_t* bytes = nullptr;
  size_t size = 0;
  if (event->kind != GESSO_EVENT_PREVIEW) {
    EXPECT_TRUE(event->pixels == nullptr && event->width == 0 && event->height == 0);
    EXPECT_EQ(gesso_encode_preview(event, "png", 0, &bytes, &size, &error), GESSO_USAGE);
    return;
  }
  EXPECT_EQ(event->width, 8);
  EXPECT_EQ(event->height, 8);
  EXPECT_EQ(event->steps, 6);
  saver.shown.emplace_back(event->step, event->pixels[3 * 8 * 8 - 1]);
  EXPECT_EQ(gesso_save_preview(event, saver.path.c_str(), 0, &error), GESSO_OK) << error.message;
  EXPECT_EQ(gesso_save_preview(event, "preview.bmp", 0, &error), GESSO_USAGE);
  EXPECT_EQ(gesso_encode_preview(event, "jpg", 80, &bytes, &size, &error), GESSO_OK) << error.message;
  const Owned<char> owner(reinterpret_cast<char*>(bytes));
  saver.encoded.push_back(size);
  EXPECT_EQ(bytes[0], 0xFF);
}

TEST_F(SavedPictures, PreviewsComeWithTheirPixels) {
  PreviewSaver saver{(folder / "sub/preview.png").string(), {}, {}};
  gesso_result* result = nullptr;
  ASSERT_EQ(gesso_generate(engine.get(), R"({"prompt":"a","steps":6,"preview":"proj","preview_interval":3})",
                           save_preview, &saver, &result, &error),
            GESSO_OK);
  gesso_result_free(result);
  EXPECT_THAT(saver.shown, testing::ElementsAre(std::pair(3, 127), std::pair(6, 255)));
  EXPECT_EQ(saver.encoded.size(), 2u);
  EXPECT_TRUE(std::filesystem::exists(folder / "sub/preview.png"));
  EXPECT_EQ(gesso_save_preview(nullptr, "a.png", 0, &error), GESSO_USAGE);
}

TEST_F(SavedPictures, RequestsComeBackFromEveryFormat) {
  const auto result = paint(R"({"prompt":"a \"cat\"\nNegative prompt: x, Steps: 20, 模型"})");
  gesso_picture picture;
  ASSERT_EQ(gesso_result_picture(result.get(), 0, &picture, &error), GESSO_OK);
  for (const char* name : {"a.png", "new/folder/b.jpg", "c.JPEG", "d.webp"}) {
    const std::string path = (folder / name).string();
    ASSERT_TRUE(save(result, path)) << error.message;
    const Owned<char> request(gesso_read_picture_request(path.c_str(), &error));
    ASSERT_TRUE(request) << name << ": " << error.message;
    EXPECT_STREQ(request.get(), picture.request) << name;
  }
}

TEST_F(SavedPictures, EncodedBytesAreThoseOfTheFile) {
  const auto result = paint(R"({"prompt":"a"})");
  const std::string path = (folder / "a.png").string();
  ASSERT_TRUE(save(result, path)) << error.message;
  uint8_t* raw = nullptr;
  size_t size = 0;
  ASSERT_EQ(gesso_encode_picture(result.get(), 0, "png", 0, &raw, &size, &error), GESSO_OK);
  const Owned<uint8_t> bytes(raw);
  std::ifstream file(path, std::ios::binary);
  const std::string stored{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(stored, std::string(reinterpret_cast<const char*>(raw), size));
}

TEST_F(SavedPictures, SeveralAreNumberedAndReplaceNothing) {
  const auto result = paint(R"({"prompt":"a","batch_count":2})");
  const std::string path = (folder / "a.png").string(), taken = (folder / "a_0001.png").string();
  std::ofstream(taken) << "mine";
  const auto names = save(result, path);
  ASSERT_TRUE(names) << error.message;
  EXPECT_EQ(json::parse(names.get()), json({(folder / "a_0002.png").string(), (folder / "a_0003.png").string()}));
  EXPECT_EQ(std::filesystem::file_size(taken), 4u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 3);  // nothing half-written beside them
}

TEST_F(SavedPictures, OtherFilesAreRefused) {
  EXPECT_EQ(gesso_check_picture_name("a.bmp", &error), GESSO_USAGE);
  EXPECT_THAT(error.message, HasSubstr("webp"));
  EXPECT_EQ(gesso_check_picture_name("x/a.PNG", nullptr), GESSO_OK);
  const auto plain = paint(R"({"prompt":"a","metadata":false})");
  const std::string path = (folder / "a.png").string();
  ASSERT_TRUE(save(plain, path)) << error.message;
  EXPECT_EQ(gesso_read_picture_request(path.c_str(), &error), nullptr);
  EXPECT_EQ(error.code, GESSO_USAGE);
  const std::string text = (folder / "text.png").string();
  std::ofstream(text) << "<html>";
  EXPECT_EQ(gesso_read_picture_request(text.c_str(), &error), nullptr);
  EXPECT_EQ(error.code, GESSO_BAD_FILE) << error.message;
  EXPECT_EQ(gesso_read_picture_request((folder / "none.png").c_str(), &error), nullptr);
  EXPECT_EQ(error.code, GESSO_NOT_FOUND);
}

}  // namespace
