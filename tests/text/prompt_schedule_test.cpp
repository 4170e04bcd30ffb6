#include "text/prompt_schedule.h"

#include <gtest/gtest.h>

#include <random>

#include "temp_folder.h"
#include "text/prompt.h"

namespace gesso {
namespace {

using Entries = std::vector<std::pair<int, std::string>>;

/// The schedule as the web UI lists it: last steps and texts, neighbours of one text in one.
Entries entries(std::string_view text, int steps = 10) {
  const PromptSchedule schedule = schedule_prompt(text, steps);
  EXPECT_EQ(schedule.text_of_step.size(), static_cast<size_t>(steps));
  Entries result;
  for (int step = 1; step <= steps; ++step) {
    const std::string& now = schedule.texts[schedule.text_of_step[static_cast<size_t>(step - 1)]];
    if (result.empty() || result.back().second != now) result.emplace_back(step, now);
    result.back().first = step;
  }
  return result;
}

// The examples in the docstring of modules/prompt_parser.py, get_learned_conditioning_prompt_schedules.
TEST(PromptSchedule, AsTheReferenceDocumentsIt) {
  EXPECT_EQ(entries("test"), (Entries{{10, "test"}}));
  EXPECT_EQ(entries("a [b:3]"), (Entries{{3, "a "}, {10, "a b"}}));
  EXPECT_EQ(entries("a [b: 3]"), (Entries{{3, "a "}, {10, "a b"}}));
  EXPECT_EQ(entries("a [[[b]]:2]"), (Entries{{2, "a "}, {10, "a [[b]]"}}));
  EXPECT_EQ(entries("[(a:2):3]"), (Entries{{3, ""}, {10, "(a:2)"}}));
  EXPECT_EQ(entries("a [b : c : 1] d"), (Entries{{1, "a b  d"}, {10, "a  c  d"}}));
  EXPECT_EQ(entries("a[b:[c:d:2]:1]e"), (Entries{{1, "abe"}, {2, "ace"}, {10, "ade"}}));
  EXPECT_EQ(entries("a [unbalanced"), (Entries{{10, "a [unbalanced"}}));
  EXPECT_EQ(entries("a [b:.5] c"), (Entries{{5, "a  c"}, {10, "a b c"}}));
  EXPECT_EQ(entries("((a][:b:c [d:3]"), (Entries{{3, "((a][:b:c "}, {10, "((a][:b:c d"}}));
  EXPECT_EQ(entries("[a|(b:1.1)]"), (Entries{{1, "a"},
                                             {2, "(b:1.1)"},
                                             {3, "a"},
                                             {4, "(b:1.1)"},
                                             {5, "a"},
                                             {6, "(b:1.1)"},
                                             {7, "a"},
                                             {8, "(b:1.1)"},
                                             {9, "a"},
                                             {10, "(b:1.1)"}}));
  EXPECT_EQ(entries("[fe|]male", 4), (Entries{{1, "female"}, {2, "male"}, {3, "female"}, {4, "male"}}));
  EXPECT_EQ(entries("[fe|||]male", 8), (Entries{{1, "female"}, {4, "male"}, {5, "female"}, {8, "male"}}));
}

// The example at the head of that file; the shares are of 100 steps.
TEST(PromptSchedule, SharesOfTheSteps) {
  EXPECT_EQ(
      entries("fantasy landscape with a [mountain:lake:0.25] and [an oak:a christmas tree:0.75][ in foreground::0.6]"
              "[: in background:0.25] [shoddy:masterful:0.5]",
              100),
      (Entries{{25, "fantasy landscape with a mountain and an oak in foreground shoddy"},
               {50, "fantasy landscape with a lake and an oak in foreground in background shoddy"},
               {60, "fantasy landscape with a lake and an oak in foreground in background masterful"},
               {75, "fantasy landscape with a lake and an oak in background masterful"},
               {100, "fantasy landscape with a lake and a christmas tree in background masterful"}}));
  EXPECT_EQ(entries("[a:b:0.0]"), (Entries{{10, "b"}}));
  EXPECT_EQ(entries("[a:b:1.0]"), (Entries{{10, "a"}}));
  EXPECT_EQ(entries("[a:b:0]"), (Entries{{10, "b"}}));
  EXPECT_EQ(entries("[a:b:1]"), (Entries{{1, "a"}, {10, "b"}}));
  EXPECT_EQ(entries("[a:b:99]"), (Entries{{10, "a"}}));
  EXPECT_EQ(entries("[a:b:-3]"), (Entries{{10, "b"}}));
  EXPECT_EQ(entries("[a:b:0.5]", 1), (Entries{{1, "b"}}));
  EXPECT_EQ(entries("[a:b:1e999]"), (Entries{{10, "a"}}));
  EXPECT_EQ(entries("[a:b:0.29]", 100).front().first, 28) << "in f64, as the reference computes it";
}

TEST(PromptSchedule, WhatIsNoEditIsText) {
  for (const char* text :
       {"[cat]", "[a:b]", "[a:b:c:3]", "[a|b:3]", "[a (b:3]", "[a ) b:3]", "[a:b:3.4.5]", "[a:b:]", "[a:b:3 x]",
        R"(\[a:b:3\])", R"([a\:3])", "(a|b)", "a | b", "[a:(b|c):3]", "[a:b:0x1]", "\\"})
    EXPECT_EQ(entries(text), (Entries{{10, text}})) << text;
  EXPECT_EQ(entries("a | b [c:3] \\"), (Entries{{3, "a | b  \\"}, {10, "a | b c \\"}}));
  EXPECT_EQ(entries(R"([\]a\[:\:b:3])"), (Entries{{3, R"(\]a\[)"}, {10, R"(\:b)"}}));
  EXPECT_EQ(entries("[a:b:c[d:3]]"), (Entries{{3, "[a:b:c]"}, {10, "[a:b:cd]"}}));
}

TEST(PromptSchedule, HostileTextEndsQuicklyAndWithinBounds) {
  std::string deep, flat;
  for (int i = 0; i < 32000; ++i) deep += "[";
  EXPECT_EQ(entries(deep + std::string(32000, ']')).size(), 1u);
  EXPECT_EQ(entries(deep + "a:b:3]").size(), 2u);
  deep.clear();
  for (int i = 0; i < 65; ++i) deep += "[a:";
  for (int i = 0; i < 65; ++i) deep += ":3]";
  EXPECT_REFUSED(schedule_prompt(deep, 10), ErrorCode::kUsage, "64 deep");
  for (const char* part : {"[1|2|3]", "[1|2|3|4|5]", "[1|2|3|4|5|6|7]", "[1|2|3|4|5|6|7|8|9|10|11]"}) flat += part;
  EXPECT_REFUSED(schedule_prompt(flat, 10'000), ErrorCode::kUsage, "256 different texts");
  const std::string alternating = std::string(65'000, 'x') + "[a|b]";
  EXPECT_EQ(schedule_prompt(alternating, 10'000).texts.size(), 2u);
  std::mt19937 random(4);
  static const char letters[] = "[]():|ab 01.\\\xff";
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (size_t count = random() % 40; count > 0; --count) text += letters[random() % (sizeof letters - 1)];
    const PromptSchedule schedule = schedule_prompt(text, 7);
    EXPECT_EQ(schedule.text_of_step.size(), 7u);
    split_prompt(text);
  }
}

TEST(PromptParts, SplitAtAnd) {
  using Parts = std::vector<PromptPart>;
  EXPECT_EQ(split_prompt("a cat AND a dog"), (Parts{{"a cat", 1}, {"a dog", 1}}));
  EXPECT_EQ(split_prompt("a cat :1.2 AND a dog AND a penguin :2.2"),
            (Parts{{"a cat", 1.2}, {"a dog", 1}, {"a penguin", 2.2}}));
  EXPECT_EQ(split_prompt("a:-0.5 AND (b:1.2) : +.5\n"), (Parts{{"a", -0.5}, {"(b:1.2)", 0.5}}));
  EXPECT_EQ(split_prompt("a ANDROID, SAND AND_"), (Parts{{"a ANDROID, SAND AND_", 1}}));
  EXPECT_EQ(split_prompt("AND"), (Parts{{"", 1}, {"", 1}}));
  EXPECT_EQ(split_prompt("at 10:30"), (Parts{{"at 10:30", 1}})) << "one part alone has no weight";
  EXPECT_EQ(split_prompt("3 AND 4"), (Parts{{"3", 1}, {"4", 1}}));
  EXPECT_REFUSED(split_prompt("a:1.2.3 AND b"), ErrorCode::kUsage, "1.2.3");
  EXPECT_REFUSED(split_prompt("a:" + std::string(400, '9') + " AND b"), ErrorCode::kUsage, "no weight");
  std::string many;
  for (int i = 0; i < 300; ++i) many += "a AND ";
  EXPECT_REFUSED(split_prompt(many), ErrorCode::kUsage, "more than 256 parts");
}

}  // namespace
}  // namespace gesso
