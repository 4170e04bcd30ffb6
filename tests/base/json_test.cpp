#include "base/json.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace gesso {
namespace {

std::string complaint(std::string_view text) {
  try {
    (void)parse_document(text, "the list", 3);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    return error.what();
  }
}

TEST(Json, DocumentsAreReadWhole) {
  EXPECT_EQ(complaint(R"({"a": [1, {"b": null}], "c": {"a": 1, "b": 2}})"), "");
  EXPECT_EQ(parse_document(R"({"b": 1, "a": 2})", "the list", 1).begin().key(), "b");  // order is kept
}

TEST(Json, WhatIsWrongIsSaid) {
  EXPECT_EQ(complaint(R"({"a": )"), "the list is not valid JSON (or not UTF-8) at byte 7");
  EXPECT_EQ(complaint("{\"a\": \"\xff\"}"), "the list is not valid JSON (or not UTF-8) at byte 8");
  EXPECT_EQ(complaint("[[[[1]]]]"), "the list is nested more than 3 levels deep");
  EXPECT_EQ(complaint(R"({"a": 1, "a": 2})"), "\"a\" is given twice in the list");
  EXPECT_EQ(complaint(R"({"a": 1e999})"), "the list is not valid JSON: a number is too large");
  EXPECT_EQ(complaint(""), "the list is not valid JSON (or not UTF-8) at byte 1");
}

TEST(Json, QuietParsingGivesNothing) {
  EXPECT_FALSE(parse_json("{"));
  EXPECT_FALSE(parse_json("\xff"));
  EXPECT_EQ(parse_json("[1, 2]").value().size(), 2u);
}

TEST(Json, TextIsAlwaysUtf8) {
  EXPECT_EQ(to_text(Json{{"name", "a\xff"}}), "{\"name\":\"a\xEF\xBF\xBD\"}");
  EXPECT_EQ(json_string("say \"\xff\""), "\"say \\\"\xEF\xBF\xBD\\\"\"");
}

TEST(Json, ShownValuesAreCutBetweenCharacters) {
  std::string wide;
  for (int i = 0; i < 40; ++i) wide += "\xC3\xA4";  // two bytes each
  const std::string text = shown(wide);
  EXPECT_LE(text.size(), 60u);
  EXPECT_TRUE(text.ends_with("\xC3\xA4...")) << text;
  EXPECT_EQ(shown(Json{1, 2}), "[1,2]");
}

}  // namespace
}  // namespace gesso
