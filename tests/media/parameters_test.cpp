#include "media/parameters.h"

#include <gtest/gtest.h>

#include <random>

#include "temp_folder.h"

namespace gesso {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

TEST(Parameters, TextAsAutomatic1111WritesIt) {
  const Parameters p{"a cat, (red:1.2)\non a mat",
                     "blurry",
                     {{"Steps", "20"},
                      {"Sampler", "DPM++ 2M Karras"},
                      {"Seed", "1"},
                      {"Lora hashes", "a: 12, b: 34"},
                      {"Model", "sd 1.5"}}};
  const std::string text =
      "a cat, (red:1.2)\non a mat\nNegative prompt: blurry\n"
      "Steps: 20, Sampler: DPM++ 2M Karras, Seed: 1, Lora hashes: \"a: 12, b: 34\", Model: sd 1.5";
  EXPECT_EQ(format_parameters(p), text);
  EXPECT_EQ(parse_parameters(text), p);
}

TEST(Parameters, PartsThatAreAbsent) {
  const Fields fields = {{"Steps", "1"}, {"Seed", "2"}, {"Size", "8x8"}};
  for (const Parameters& p : {Parameters{"", "", fields}, Parameters{"p", "", fields}, Parameters{"", "n\nm", fields},
                              Parameters{"p", "n", {}}, Parameters{"p", "", {}}, Parameters{}})
    EXPECT_EQ(parse_parameters(format_parameters(p)), p) << format_parameters(p);
}

TEST(Parameters, LastLineWithFewFieldsIsPrompt) {
  const Parameters p = parse_parameters("a photo\nscene: forest, time: night");
  EXPECT_EQ(p.prompt, "a photo\nscene: forest, time: night");
  EXPECT_TRUE(p.fields.empty());
}

TEST(Parameters, ReadsWhatOthersWrite) {
  const Parameters p = parse_parameters(
      "  x  \r\n y\r\nNegative prompt: n1\r\n n2 \r\nSteps: 20, Sampler: Euler a, CFG scale: 7.5, Seed: 1, ADetailer "
      "model: "
      "face_yolov8n.pt, Bad: \"unclosed, TI hashes: \"e: 1\", Empty: , Version: v1.9.4\n");
  EXPECT_EQ(p.prompt, "x\ny");
  EXPECT_EQ(p.negative, "n1\nn2");
  const Fields wanted = {{"Steps", "20"},
                         {"Sampler", "Euler a"},
                         {"CFG scale", "7.5"},
                         {"Seed", "1"},
                         {"ADetailer model", "face_yolov8n.pt"},
                         {"Bad", "\"unclosed"},
                         {"TI hashes", "e: 1"},
                         {"Empty", ""},
                         {"Version", "v1.9.4"}};
  EXPECT_EQ(p.fields, wanted);
}

TEST(Parameters, AnyValueIsReadBackEqual) {  // M01
  static const char* const pieces[] = {"\n", "\r", "\"", "\\", ",",          ":",  " ",    "\t",   "é",
                                       "猫", "🎨",  "a",  "1",  "Steps: 20,", "{}", "\x01", "\\\"", "\", b: \""};
  std::mt19937 random(2);
  for (int round = 0; round < 5'000; ++round) {
    Parameters p{"prompt", "", {{"Steps", "20"}, {"Seed", "7"}}};
    for (const char* name : {"One", "Two words", "a-b/c_d", "Größe"}) {
      std::string value;
      for (size_t count = random() % 8; count > 0; --count) value += pieces[random() % std::size(pieces)];
      p.fields.emplace_back(name, value);
    }
    ASSERT_EQ(parse_parameters(format_parameters(p)), p) << format_parameters(p);
  }
}

TEST(Parameters, NamesThatTheFormatCannotHold) {
  for (const char* name : {"", "x", "a:b", "a,b", " ab", "-ab", "a\nb", "a\"b"})
    EXPECT_REFUSED(format_parameters({"p", "", {{name, "v"}}}), ErrorCode::kUsage, "cannot have a field named");
}

TEST(Parameters, AnyBytesAreParsed) {
  std::mt19937 random(9);
  static const char letters[] = "ab:,\"\\\n -/_\xff";
  for (int round = 0; round < 5'000; ++round) {
    std::string text;
    for (size_t count = random() % 60; count > 0; --count) text += letters[random() % (sizeof letters - 1)];
    parse_parameters(text);
  }
  const std::string many(1'000'000, 'a');
  parse_parameters(many + "\n" + std::string(1'000'000, '"'));
}

}  // namespace
}  // namespace gesso
