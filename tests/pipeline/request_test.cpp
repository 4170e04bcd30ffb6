#include "pipeline/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "pipeline/request_fields.h"

namespace gesso {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The message with which a request is refused; empty when it is accepted.
std::string refusal(std::string_view json) {
  try {
    parse_request(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "";
}

std::string with(const std::string& member) {
  return R"({"prompt":"a cat",)" + member + "}";
}

TEST(Request, AbsentFieldsHaveTheDefaults) {
  const Request request = parse_request(R"({"prompt":"a cat"})");
  EXPECT_EQ(request.prompt, "a cat");
  EXPECT_EQ(request.seed, 42);
  EXPECT_EQ(request.batch_count, 1);
  EXPECT_FALSE(request.width || request.steps || request.cfg_scale || request.sampling_method);
  EXPECT_TRUE(request.metadata);
}

TEST(Request, EveryFieldSurvivesARoundTrip) {
  const char* text =
      R"({"model":"m/modèle 模型.safetensors","vae":"v","clip_l":"l","clip_g":"g","clip_h":"h","t5xxl":"t","prompt":"a \"cat\"\n",
      "negative_prompt":"dog","width":512,"height":768,"seed":9007199254740993,"batch_count":3,"metadata":false,
      "steps":20,"cfg_scale":7.1,"guidance":2.5,"flow_shift":1.5,"sampling_method":"dpm++2m","scheduler":"karras","eta":0.3,"clip_skip":2,"rng":"cpu",
      "prediction":"v","precision":"f32","threads":2,"memory":"1536MiB","diffusion_model":"d",
      "init_image":"i.png","mask_image":"m.png","mask_channel":"alpha","mask_invert":true,"mask_blur":0,"inpaint_area":"masked",
      "inpaint_padding":8,"resize_mode":"fit","strength":0.5,"sigmas":"14.6,7,0","guidance_method":"apg",
      "guidance_rescale":0.5,"guidance_start":0.25,"guidance_end":0.75,"extra_sample_args":"order=2",
      "prompt_syntax":"comfyui","outpaint_left":1,"outpaint_top":2,"outpaint_right":3,"outpaint_bottom":4,"wildcards":"w","grid":"steps=1,2","grid_cells":true,"subseed":7,"subseed_strength":0.25,"circular_x":true,"circular_y":true,
      "taesd":"y","taesd_preview_only":true,"preview":"tae","preview_interval":2,"preview_noisy":true,"vae_tiling":true,
      "vae_tile_size":"32x16","vae_relative_tile_size":"0.5x2","vae_tile_overlap":0.125})";
  const Request request = parse_request(text);
  const auto document = request_to_json(request);
  EXPECT_EQ(document.size(), request_fields().size());
  EXPECT_EQ(nlohmann::json(document), nlohmann::json::parse(text));
  EXPECT_EQ(request_to_json(request_from_json(document)), document);
  EXPECT_EQ(request.seed, 9007199254740993);  // no double can hold it
  EXPECT_EQ(request.memory, int64_t{1536} << 20);
}

TEST(Request, RefusalsNameFieldRangeAndValue) {
  EXPECT_EQ(refusal(with(R"("steps":0)")), "steps: wanted a whole number from 1 to 10000, found 0");
  EXPECT_EQ(refusal(with(R"("steps":20.5)")), "steps: wanted a whole number from 1 to 10000, found 20.5");
  EXPECT_EQ(refusal(with(R"("steps":"20")")), "steps: wanted a whole number from 1 to 10000, found \"20\"");
  EXPECT_EQ(refusal(with(R"("width":513)")),
            "width: wanted a multiple of 8 from 64 to 8192, found 513; nearest: 512 and 520");
  EXPECT_EQ(refusal(with(R"("width":8200)")), "width: wanted a multiple of 8 from 64 to 8192, found 8200");
  EXPECT_EQ(refusal(with(R"("cfg_scale":-1)")), "cfg_scale: wanted a number from 0 to 1000, found -1");
  EXPECT_EQ(refusal(with(R"("precision":"f8")")), "precision: wanted one of auto, f32, bf16, found \"f8\"");
  EXPECT_THAT(refusal(with(R"("scheduler":"karas")")), AllOf(HasSubstr("'karas'"), HasSubstr("karras")));
  EXPECT_THAT(refusal(with(R"("scheduler":1)")), HasSubstr("scheduler: wanted one of "));
  EXPECT_EQ(refusal(with(R"("metadata":1)")), "metadata: wanted true or false, found 1");
  EXPECT_EQ(refusal(with(R"("negative_prompt":["a"])")), "negative_prompt: wanted a text, found [\"a\"]");
  EXPECT_THAT(refusal(with(R"("memory":"lots")")), HasSubstr("such as \"8GiB\""));
  EXPECT_THAT(refusal(with(R"("seed":9223372036854775808)")), HasSubstr("seed: wanted a whole number"));
  EXPECT_THAT(refusal(with(R"("seed":9223372036854775807)")), HasSubstr("leaves no room"));
  EXPECT_THAT(refusal(with(R"("seed":1e300)")), HasSubstr("seed: wanted a whole number"));
  EXPECT_EQ(refusal(with(R"("steps":20.0)")), "");
}

TEST(Request, SamplersOfOtherProgramsAreUnderstood) {
  const Request karras = parse_request(with(R"("sampling_method":"DPM++ 2M Karras")"));
  EXPECT_EQ(karras.sampling_method, "dpm++2m");
  EXPECT_EQ(karras.scheduler, "karras");
  for (const char* order : {R"("scheduler":"simple","sampling_method":"DPM++ 2M Karras")",
                            R"("sampling_method":"DPM++ 2M Karras","scheduler":"simple")"})
    EXPECT_EQ(parse_request(with(order)).scheduler, "simple");
}

TEST(Request, ALoraInThePromptIsNotPaintedAsText) {
  try {
    parse_request(R"({"prompt":"a cat <lora:x:1>"})");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  }
}

TEST(Request, APromptIsNeeded) {
  EXPECT_THAT(refusal("{}"), HasSubstr("prompt: missing"));
  EXPECT_THAT(refusal(R"({"prompt":""})"), HasSubstr("prompt: wanted a text that is not blank"));
  EXPECT_THAT(refusal(R"({"prompt":" \n\t"})"), HasSubstr("not blank"));
  EXPECT_THAT(refusal(R"({"prompt":"a\u0000b"})"), HasSubstr("NUL"));
}

TEST(Request, UnknownFieldsNameTheNearestKnownOne) {
  EXPECT_THAT(refusal(with(R"("stepz":3)")), AllOf(HasSubstr("\"stepz\""), HasSubstr("\"steps\"")));
  EXPECT_THAT(refusal(with(R"("cfg":3)")), HasSubstr("\"cfg_scale\""));
  EXPECT_THAT(refusal(with(R"("sampler_name":"euler")")), HasSubstr("\"sampling_method\""));
  EXPECT_THAT(refusal(with(R"("num_inference_steps":3)")), HasSubstr("\"steps\""));
  EXPECT_THAT(refusal("{\"" + std::string(5000, 'x') + "\":1}"), HasSubstr("..."));
}

TEST(Request, NullMeansAbsentForOptionalFields) {
  EXPECT_EQ(refusal(with(R"("width":null,"sampling_method":null)")), "");
  EXPECT_THAT(refusal(R"({"prompt":null})"), HasSubstr("prompt: wanted a text"));
}

TEST(Request, BelowOneMeansAbsentWhereOtherProgramsSaySo) {
  EXPECT_FALSE(parse_request(with(R"("clip_skip":-1)")).clip_skip);
  EXPECT_EQ(parse_request(with(R"("threads":-1)")).threads, 0);
}

TEST(Request, BadDocumentsAreRefused) {
  EXPECT_THAT(refusal(""), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal("{\"prompt\":\"a\"} x"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal("{\"prompt\":\"\xFF\"}"), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal(with(R"("cfg_scale":1e999)")), HasSubstr("too large"));
  EXPECT_THAT(refusal("[]"), HasSubstr("a request is a JSON object"));
  EXPECT_THAT(refusal(R"({"prompt":"a","prompt":"b"})"), HasSubstr("twice"));
  EXPECT_THAT(refusal(R"({"prompt":)" + std::string(500000, '[')), HasSubstr("nested"));
  EXPECT_THAT(refusal(std::string(kRequestLimit + 1, ' ')), HasSubstr("too large"));
}

TEST(Request, NumbersIgnoreTheLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  std::setlocale(LC_ALL, "de_DE.UTF-8");  // where it is not installed, this test proves little
  EXPECT_EQ(parse_request(with(R"("cfg_scale":7.5)")).cfg_scale, 7.5);
  EXPECT_THAT(request_to_json(parse_request(with(R"("cfg_scale":7.5)"))).dump(), HasSubstr("7.5"));
  EXPECT_EQ(parse_memory("1.5GiB"), int64_t{3} << 29);
  std::setlocale(LC_ALL, before.c_str());
}

TEST(Request, Memory) {
  EXPECT_EQ(parse_memory("8GiB"), int64_t{8} << 30);
  EXPECT_EQ(parse_memory("8 G"), int64_t{8} << 30);
  EXPECT_EQ(parse_memory("800mb"), 800000000);
  EXPECT_EQ(parse_memory("123"), 123);
  for (const char* bad : {"", "GiB", "-1GiB", "nan", "inf", "8 parsecs", "1e300", "8GiB8"})
    EXPECT_FALSE(parse_memory(bad)) << bad;
}

TEST(Request, ARecipeRepeatsOnePictureAndKeepsNoFolders) {
  const Request request = parse_request(with(
      R"("model":"/home/me/m.safetensors","vae":"/home/me/vae/","seed":7,"batch_count":4,"threads":2,"memory":5)"));
  const auto recipe = recipe_to_json(request, 2);
  EXPECT_EQ(recipe["model"], "m.safetensors");
  EXPECT_EQ(recipe["vae"], "vae");
  EXPECT_EQ(recipe["seed"], 9);
  EXPECT_EQ(recipe["batch_count"], 1);
  EXPECT_FALSE(recipe.contains("threads") || recipe.contains("memory"));
  EXPECT_EQ(recipe.dump().find("home"), std::string::npos);
  EXPECT_EQ(recipe_to_json(request_from_json(recipe), 0), recipe);
}

TEST(Request, RandomSeeds) {
  EXPECT_EQ(resolve_seed(5), 5);
  const int64_t first = resolve_seed(-1), second = resolve_seed(-1), third = resolve_seed(-1);
  EXPECT_TRUE(first >= 0 && first < (int64_t{1} << 32));
  EXPECT_FALSE(first == second && second == third);
}

TEST(RequestFields, AreNamedOnceAndDescribed) {
  std::vector<std::string_view> names;
  for (const Field& field : request_fields()) {
    names.push_back(field.name);
    EXPECT_FALSE(field.description.empty() || field.options.empty() || field.group.empty()) << field.name;
    EXPECT_FALSE(field.description.ends_with('.')) << field.name;
    EXPECT_EQ(find_field(field.name), &field);
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_EQ(find_field("x"), nullptr);
}

TEST(RequestSchema, IsTheOneInTheDocumentation) {
  std::ifstream file(GESSO_SOURCE_DIR "/docs/request.schema.json");
  const std::string stored{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(stored == request_schema().dump(2) + "\n") << "renew it: gesso schema > docs/request.schema.json";
}

TEST(RequestSchema, HoldsTheDefaults) {
  for (const auto& property : request_schema()["properties"].items()) {
    if (!property.value().contains("default")) continue;
    const auto document = request_to_json(parse_request(R"({"prompt":"a"})"));
    EXPECT_EQ(document[property.key()], property.value()["default"]) << property.key();
  }
}

}  // namespace
}  // namespace gesso
