#include "text/prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <clocale>
#include <cmath>
#include <locale>
#include <random>

#include "base/error.h"
#include "base/unicode.h"
#include "text/number.h"

namespace gesso {
namespace {

using Section = std::vector<WeightedSegment>;
constexpr float kUp = 1.1f, kDown = static_cast<float>(1 / 1.1);

struct Case {
  std::string text;
  Section segments;
};

void expect_segments(const std::vector<Case>& cases) {
  for (const auto& [text, segments] : cases) {
    const Prompt prompt = parse_prompt(text);
    ASSERT_EQ(prompt.sections.size(), 1u) << text;
    ASSERT_EQ(prompt.sections[0].size(), segments.size()) << text;
    for (size_t i = 0; i < segments.size(); ++i) {
      EXPECT_EQ(prompt.sections[0][i].text, segments[i].text) << text;
      EXPECT_FLOAT_EQ(prompt.sections[0][i].weight, segments[i].weight) << text;
    }
    EXPECT_EQ(parse_prompt(print_prompt(prompt)), prompt) << text << " -> " << print_prompt(prompt);
  }
}

std::string usage_error(std::string_view text) {
  try {
    parse_prompt(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    return error.what();
  }
  return "accepted";
}

TEST(Prompt, Brackets) {
  expect_segments({
      {"", {}},
      {"a cat", {{"a cat", 1}}},
      {"a (cat)", {{"a ", 1}, {"cat", kUp}}},
      {"a [cat]", {{"a ", 1}, {"cat", kDown}}},
      {"((cat))", {{"cat", 1.21f}}},
      {"(a (b:2) c)", {{"a ", kUp}, {"b", 2.2f}, {" c", kUp}}},
      {"[(a)]", {{"a", 1}}},
      {"(a:1.3)", {{"a", 1.3f}}},
      {"(a: +1.5 )b", {{"a", 1.5f}, {"b", 1}}},
      {"(a:.5)", {{"a", 0.5f}}},
      {"(a\u3000:\u00a02.\t)", {{"a\u3000", 2}}},
      {"(a)(b:1.1)", {{"ab", kUp}}},
      {"()[](:2)", {}},
  });
}

TEST(Prompt, UnbalancedBrackets) {
  expect_segments({
      {"(unfinished", {{"unfinished", kUp}}},
      {"a [b", {{"a ", 1}, {"b", kDown}}},
      {"a) b]", {{"a) b]", 1}}},
      {"a:1.2)", {{"a:1.2)", 1}}},
      {"(a:1.2", {{"a:1.2", kUp}}},
      {"([a)b]", {{"a", 1}, {"b", kDown}}},
      {"(a:)", {{"a:", kUp}}},
      {"(:.) (a:-)", {{":.", kUp}, {" ", 1}, {"a:-", kUp}}},
  });
}

// T01, T02
TEST(Prompt, ZeroAndNegativeWeights) {
  expect_segments({
      {"(cat:0)", {{"cat", 0}}},
      {"[cat:0]", {{"cat:0", kDown}}},
      {"{cat:0}", {{"{cat:0}", 1}}},
      {"(cat:-1)", {{"cat", -1}}},
      {"((a:0) b:-0.5)", {{"a", 0}, {" b", -0.5f}}},
      {"(sunny:0.6), landscape", {{"sunny", 0.6f}, {", landscape", 1}}},
  });
}

// T04
TEST(Prompt, Escapes) {
  expect_segments({
      {R"(snakebite \(piercing\))", {{"snakebite (piercing)", 1}}},
      {R"((snakebite \(piercing\):1.2))", {{"snakebite (piercing)", 1.2f}}},
      {R"(a \\ b)", {{R"(a \ b)", 1}}},
      {R"(a \\\\ b)", {{R"(a \\ b)", 1}}},
      {R"(\\(a))", {{R"(\)", 1}, {"a", kUp}}},
      {R"(\\\(a\\\))", {{R"(\(a\))", 1}}},
      {R"(\[a\]:2\))", {{"[a]:2)", 1}}},
      {R"((a:1.2\)))", {{"a:1.2)", kUp}}},
      {R"(a\b\)", {{"ab", 1}}},
  });
}

// T05
TEST(Prompt, PunctuationKeepsItsWeight) {
  expect_segments({
      {"a,, (b,:1.2),\n\t(c):2)", {{"a,, ", 1}, {"b,", 1.2f}, {",\n\t", 1}, {"c", kUp}, {":2)", 1}}},
      {"(16:9:1.5) at 10:30", {{"16:9", 1.5f}, {" at 10:30", 1}}},
      {"(a:1.2)!", {{"a", 1.2f}, {"!", 1}}},
  });
}

// T07
TEST(Prompt, Breaks) {
  const auto sections = [](std::string_view text) {
    const Prompt prompt = parse_prompt(text);
    EXPECT_EQ(parse_prompt(print_prompt(prompt)), prompt) << print_prompt(prompt);
    return prompt.sections;
  };
  using Sections = std::vector<Section>;
  EXPECT_EQ(sections("a BREAK b"), (Sections{{{"a", 1}}, {{"b", 1}}}));
  EXPECT_EQ(sections("a\n\tBREAK\u00a0 b c BREAK,d"), (Sections{{{"a", 1}}, {{"b c", 1}}, {{",d", 1}}}));
  EXPECT_EQ(sections("BREAK a BREAK"), (Sections{{}, {{"a", 1}}, {}}));
  EXPECT_EQ(sections("a BREAK BREAK BREAK b"), (Sections{{{"a", 1}}, {}, {}, {{"b", 1}}}));
  EXPECT_EQ(sections("BREAK"), (Sections{{}, {}}));
  EXPECT_EQ(sections("(a BREAK b:1.5)"), (Sections{{{"a", 1.5f}}, {{"b", 1.5f}}}));
  EXPECT_EQ(sections("a ()BREAK() b"), (Sections{{{"a", 1}}, {{"b", 1}}}));
  EXPECT_EQ(sections(" BREAKS break OUTBREAK BREAK_ \u00e9BREAK B\\REAK "),
            (Sections{{{" BREAKS break OUTBREAK BREAK_ \u00e9BREAK BREAK ", 1}}}));
}

TEST(Prompt, LoraTags) {
  const Prompt prompt = parse_prompt("(a <lora:my file v1.0 (x):0.8>cat:1.2)<lora:b><LoRA:c:1:-.5> <lyco:d:0>");
  EXPECT_EQ(prompt.loras,
            (std::vector<LoraTag>{{"my file v1.0 (x)", 0.8f, 0.8f}, {"b", 1, 1}, {"c", 1, -0.5f}, {"d", 0, 0}}));
  EXPECT_EQ(prompt.sections, (std::vector<Section>{{{"a cat", 1.2f}, {" ", 1}}}));
  EXPECT_EQ(parse_prompt(print_prompt(prompt)), prompt);

  const Prompt nested = parse_prompt("<lo<lora:a>ra:b>");
  EXPECT_EQ(nested.loras.size(), 2u);
  EXPECT_EQ(nested.sections, std::vector<Section>(1));

  const Prompt literal = parse_prompt("<\\lora:a> <loran> < lora:b> (<lora\\:1.5)");
  EXPECT_TRUE(literal.loras.empty());
  EXPECT_EQ(literal.sections[0][0].text, "<lora:a> <loran> < lora:b> ");
  EXPECT_EQ(parse_prompt(print_prompt(literal)), literal) << print_prompt(literal);
}

// What comfy/sd1_clip.py's token_weights gives for these.
TEST(Prompt, ComfyUisReading) {
  const auto read = [](std::string_view text) { return parse_prompt(text, PromptSyntax::kComfyUi).sections; };
  const auto is = [&](std::string_view text, const Section& wanted) {
    const auto sections = read(text);
    ASSERT_EQ(sections.size(), 1u) << text;
    ASSERT_EQ(sections[0].size(), wanted.size()) << text;
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ(sections[0][i].text, wanted[i].text) << text;
      EXPECT_FLOAT_EQ(sections[0][i].weight, wanted[i].weight) << text;
    }
  };
  is("", {});
  is("a (cat)", {{"a ", 1}, {"cat", 1.1f}});
  is("((cat))", {{"cat", 1.21f}});
  is("(a (b:2) c:1.5)", {{"a ", 1.5f}, {"b", 2}, {" c", 1.5f}});  // there a number is the weight itself
  is("((b):0.5)", {{"b", 0.55f}});
  is("(a:b)", {{"a:b", 1.1f}});
  is("(a:b:1.3)", {{"a:b", 1.3f}});
  is("(:1.3)", {{":1.3", 1.1f}});
  is("(a: 2 )", {{"a", 2}});
  is("()()", {});
  is("[cat] BREAK {dog} \\x", {{"[cat] BREAK {dog} \\x", 1}});
  is(R"(\(a\) (b\):2))", {{"(a) ", 1}, {"b)", 2}});
  is("(unfinished", {{"(unfinished", 1}});
  is("((a)", {{"(a", 1.1f}});
  is("a) (b:2)", {{"a) (b:2)", 1}});
  is("\1\2", {{"\1\2", 1}});
  is("<lora:x:1>", {{"<lora:x:1>", 1}});
  EXPECT_NO_THROW(read(std::string(20000, '(') + "a" + std::string(20000, ']')));
  EXPECT_THROW(read(std::string(20000, '(') + "a" + std::string(20000, ')')), Error);
  std::string deep = "a";
  for (int i = 0; i < 5000; ++i) deep = "(" + deep + ":1)";
  is(deep, {{"a", 1}});
}

TEST(Prompt, RefusesWhatCannotBeMeant) {
  EXPECT_THAT(usage_error("(a:1.2.3)"), ::testing::HasSubstr("'1.2.3'"));
  EXPECT_THAT(usage_error("(a:" + std::string(400, '9') + ")"), ::testing::HasSubstr("is no number"));
  EXPECT_THAT(usage_error("((a:99999999999999999999):99999999999999999999)"), ::testing::HasSubstr("multiply"));
  EXPECT_THAT(usage_error("<lora:a"), ::testing::HasSubstr("no closing"));
  EXPECT_THAT(usage_error("<lora:a:x>"), ::testing::HasSubstr("'x'"));
  EXPECT_THAT(usage_error("<lora:a:>"), ::testing::HasSubstr("a number is wanted"));
  EXPECT_THAT(usage_error("<lora:a:nan>"), ::testing::HasSubstr("a number is wanted"));
  EXPECT_THAT(usage_error("<lora::1>"), ::testing::HasSubstr("no LoRA tag"));
  EXPECT_THAT(usage_error("<lora:a:1:2:3>"), ::testing::HasSubstr("no LoRA tag"));
  EXPECT_THAT(usage_error(std::string(kMaxPromptBytes + 1, 'a')), ::testing::HasSubstr("65537 bytes"));
  EXPECT_NO_THROW(parse_prompt(std::string(kMaxPromptBytes, 'a')));
}

TEST(Prompt, DeepNestingEndsQuickly) {
  std::string text;
  for (int i = 0; i < 10000; ++i) text += "[a";
  text += std::string(10000, ']');
  EXPECT_NO_THROW(parse_prompt(text));
  EXPECT_THAT(usage_error(std::string(30000, '(') + "a"), ::testing::HasSubstr("multiply"));
}

TEST(Prompt, ReplacesInvalidUtf8) {
  EXPECT_EQ(parse_prompt("a\xff(b").sections[0][0].text, "a\uFFFD");
}

TEST(Prompt, PrintsWhatItReads) {
  std::mt19937 random(7);
  const std::vector<std::string> parts = {"(",      ")",   "[",  "]",      ":",     "1.5",     "-0.3",  "\\",
                                          "\\\\",   "a",   "b ", " ",      "BREAK", " BREAK ", "<lora", "<",
                                          ">",      ",",   "\n", "\u00e9", "B",     "REAK",    "lora:", "<lora:x:0.5>",
                                          "\u3000", ":2)", "_",  "{",      "}"};
  int accepted = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (size_t count = random() % 14; count > 0; --count) text += parts[random() % parts.size()];
    Prompt prompt;
    try {
      prompt = parse_prompt(text);
    } catch (const Error&) {
      continue;  // a tag cut short, or a weight such as 1.51.5
    }
    ++accepted;
    ASSERT_EQ(parse_prompt(print_prompt(prompt)), prompt) << text << "\n -> " << print_prompt(prompt);
    for (const auto& section : prompt.sections)
      for (const auto& segment : section) ASSERT_FALSE(segment.text.empty()) << text;
  }
  EXPECT_GT(accepted, 2500);
}

TEST(Number, PrintsAndReadsEveryFloat) {
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    const auto read = parse_number(print_number(value));
    ASSERT_TRUE(read) << print_number(value);
    ASSERT_EQ(static_cast<float>(*read), value);
  }
  for (const auto text : {"", "+", "+-1", "1,2", "1.2x", " 1", "inf", "nan", "1e99", "0x1"})
    EXPECT_FALSE(parse_number(text)) << text;
}

// T17: a host program may have set any locale; numbers keep their point.
void expect_decimal_points(const std::string& locale) {
  EXPECT_FLOAT_EQ(parse_prompt("(a:1.2)").sections[0][0].weight, 1.2f) << locale;
  EXPECT_EQ(print_number(1.5f), "1.5") << locale;
  EXPECT_EQ(print_prompt(parse_prompt("(a:1.2)<lora:x:0.5>")), "(a:1.2)<lora:x:0.5>") << locale;
}

TEST(Number, IgnoresTheLocaleOfC) {
  for (const auto name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C"})
    if (std::setlocale(LC_ALL, name)) expect_decimal_points(name);  // not every system has them
  std::setlocale(LC_ALL, "C");
}

TEST(Number, IgnoresTheLocaleOfStreams) {
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const auto before = std::locale::global(std::locale(std::locale::classic(), new Comma));
  expect_decimal_points("comma");
  std::locale::global(before);
}

}  // namespace
}  // namespace gesso
