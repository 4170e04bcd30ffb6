#include "text/chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "text/explain.h"

namespace gesso {
namespace {

constexpr int32_t kBos = ClipTokenizer::kBos, kEos = ClipTokenizer::kEos, kCat = 2368, kComma = 267;

class Chunks : public testing::Test {
 protected:
  static void SetUpTestSuite() { tokenizer_ = std::make_unique<ClipTokenizer>(); }
  static void TearDownTestSuite() { tokenizer_.reset(); }

  static std::vector<PromptChunk> chunks(std::string_view text, const ChunkOptions& options = {}) {
    return chunk_prompt(*tokenizer_, parse_prompt(text), options);
  }

  // How many tokens each chunk holds, after checking what every chunk must be.
  static std::vector<int> sizes(std::string_view text, const ChunkOptions& options = {}) {
    std::vector<int> result;
    for (const auto& chunk : chunks(text, options)) {
      EXPECT_EQ(chunk.ids[0], kBos);
      EXPECT_EQ(chunk.ids[chunk.eos], kEos);
      EXPECT_EQ(chunk.tokens, chunk.eos - 1);
      for (size_t i = chunk.eos + 1; i < chunk.ids.size(); ++i) {
        EXPECT_EQ(chunk.ids[i], options.pad);
        EXPECT_EQ(chunk.weights[i], 1);
      }
      EXPECT_EQ(chunk.weights[0], 1);
      EXPECT_EQ(chunk.weights[chunk.eos], 1);
      result.push_back(chunk.tokens);
    }
    return result;
  }

  static std::string words(int count, std::string_view word = "cat ") {
    std::string text;
    for (int i = 0; i < count; ++i) text += word;
    return text;
  }

  static inline std::unique_ptr<ClipTokenizer> tokenizer_;
};

using testing::ElementsAre;

// T08
TEST_F(Chunks, FillAt75) {
  EXPECT_THAT(sizes(""), ElementsAre(0));
  EXPECT_THAT(sizes(" \n"), ElementsAre(0));
  EXPECT_THAT(sizes(words(74)), ElementsAre(74));
  EXPECT_THAT(sizes(words(75)), ElementsAre(75));
  EXPECT_THAT(sizes(words(76)), ElementsAre(75, 1));
  EXPECT_THAT(sizes(words(150)), ElementsAre(75, 75));
  EXPECT_THAT(sizes(words(151)), ElementsAre(75, 75, 1));
}

TEST_F(Chunks, PadAsTheEncoderWants) {
  const auto clip = chunks("cat")[0], open_clip = chunks("cat", {.pad = 0})[0];
  EXPECT_THAT(std::span(clip.ids).first(4), ElementsAre(kBos, kCat, kEos, kEos));
  EXPECT_THAT(std::span(open_clip.ids).first(4), ElementsAre(kBos, kCat, kEos, 0));
  EXPECT_EQ(clip.ids[76], kEos);
  EXPECT_EQ(open_clip.ids[76], 0);
  EXPECT_THAT(sizes(words(76), {.pad = 0}), ElementsAre(75, 1));
}

TEST_F(Chunks, CommaKeepsAPhraseTogether) {
  const auto phrase = [](int after) { return words(75 - after) + "," + words(after + 1); };
  EXPECT_THAT(sizes(phrase(19)), ElementsAre(57, 20));  // the comma is number 57 of 75: the last that counts
  EXPECT_THAT(sizes(words(55) + "," + words(20)), ElementsAre(56, 20));
  EXPECT_THAT(sizes(words(54) + "," + words(21)), ElementsAre(75, 1));  // too far back
  EXPECT_THAT(sizes(words(55) + "," + words(20), {.comma_backoff = 0}), ElementsAre(75, 1));
  EXPECT_THAT(sizes(words(74) + "," + words(5)), ElementsAre(75, 5));
  EXPECT_THAT(sizes(words(75) + "," + words(5)), ElementsAre(75, 6));
  EXPECT_THAT(sizes(words(60) + "," + words(5) + "," + words(10)), ElementsAre(67, 10));
  EXPECT_EQ(chunks(words(55) + "," + words(20))[0].ids[56], kComma);
}

TEST_F(Chunks, CommaOfAnEarlierChunkDoesNotCount) {
  EXPECT_THAT(sizes(words(70) + "," + words(80)), ElementsAre(71, 75, 5));
}

TEST_F(Chunks, AWordIsNotCut) {
  const std::string word = "supercalifragilistic";
  const auto length = static_cast<int>(tokenizer_->encode(word).size());
  ASSERT_GT(length, 2);
  EXPECT_THAT(sizes(words(75 - length) + word), ElementsAre(75));
  EXPECT_THAT(sizes(words(74) + word), ElementsAre(74, length));
  EXPECT_THAT(sizes(words(60) + "," + words(13) + word), ElementsAre(61, 13 + length));
}

TEST_F(Chunks, AWordLongerThanAChunkFillsChunks) {
  std::string word;
  for (int i = 0; i < 400; ++i) word += static_cast<char>('a' + i * 7 % 26);
  const auto length = static_cast<int>(tokenizer_->encode(word).size());
  ASSERT_GT(length, 75);
  const int all = length + 10;
  std::vector<int> wanted(all / 75, 75);
  if (all % 75) wanted.push_back(all % 75);
  EXPECT_EQ(sizes(words(10) + word), wanted);
}

// T07
TEST_F(Chunks, BreakEndsAChunk) {
  EXPECT_THAT(sizes("cat cat"), ElementsAre(2));
  EXPECT_THAT(sizes("cat BREAK cat cat"), ElementsAre(1, 2));
  EXPECT_THAT(sizes("cat BREAK cat cat BREAK cat"), ElementsAre(1, 2, 1));
  EXPECT_THAT(sizes("cat BREAK cat BREAK BREAK cat"), ElementsAre(1, 1, 0, 1));
  EXPECT_THAT(sizes("BREAK cat"), ElementsAre(0, 1));
  EXPECT_THAT(sizes("cat BREAK"), ElementsAre(1));
  EXPECT_THAT(sizes("BREAK"), ElementsAre(0));
  EXPECT_THAT(sizes(words(75) + "BREAK cat"), ElementsAre(75, 1));
  for (const auto& chunk : chunks("(cat BREAK cat:1.5)"))
    EXPECT_THAT(std::span(chunk.weights).first(3), ElementsAre(1, 1.5f, 1));
}

// T02, T05
TEST_F(Chunks, WeightsStayWithTheirTokens) {
  const auto chunk = chunks("a (cat:0.6), [cat]\n\t(cat,:-2)")[0];
  EXPECT_EQ(std::vector(chunk.ids.begin(), chunk.ids.begin() + 8),
            (std::vector<int32_t>{kBos, 320, kCat, kComma, kCat, kCat, kComma, kEos}));
  const auto down = static_cast<float>(1 / 1.1);
  EXPECT_THAT(std::span(chunk.weights).first(8), ElementsAre(1, 1, 0.6f, 1, down, -2, -2, 1));

  const auto moved = chunks(words(60) + ", (" + words(20) + ":2)");
  EXPECT_EQ(moved[0].weights[61], 1);  // the comma
  for (int i = 1; i <= 20; ++i) EXPECT_EQ(moved[1].weights[i], 2);
}

TEST_F(Chunks, PooledPlaceIsTheFirstEos) {
  const auto chunk = chunks("cat <|endoftext|> cat")[0];
  EXPECT_EQ(chunk.tokens, 3);
  EXPECT_EQ(chunk.eos, 2);
}

TEST_F(Chunks, LongestPromptIsBounded) {
  const auto all = chunks(words(kMaxPromptBytes / 2, "! "));
  EXPECT_EQ(all.size(), (kMaxPromptBytes / 2 + 74) / 75);
}

TEST_F(Chunks, ExplainShowsHowAPromptIsRead) {
  EXPECT_EQ(explain_prompt(*tokenizer_, parse_prompt("a (cat:1.2) BREAK <lora:x.y:0.5>"), {.pad = 0}),
            "chunk 1 of 1: 2 of 75 tokens\n"
            "  place     id  weight  token\n"
            "      0  49406       1  <|startoftext|>\n"
            "      1    320       1  a</w>\n"
            "      2   2368     1.2  cat</w>\n"
            "      3  49407       1  <|endoftext|>\n"
            "      4      0          padding to place 76\n"
            "LoRA 'x.y': text encoder 0.5, model 0.5\n");
  EXPECT_THAT(explain_prompt(*tokenizer_, parse_prompt(words(75))), testing::Not(::testing::HasSubstr("padding")));
}

// comfy/sd1_clip.py: a word of less than eight tokens moves to the next chunk whole, a longer one is cut; commas count
// for nothing.
TEST_F(Chunks, ComfyUisChunks) {
  const auto chunks = [&](const std::string& text) {
    return chunk_prompt(*tokenizer_, parse_prompt(text, PromptSyntax::kComfyUi));
  };
  const std::string comma = "a, " + words(71);  // 73 tokens
  const auto moved = chunks(comma + " a,b,");   // four tokens, one word
  ASSERT_EQ(moved.size(), 2u);
  EXPECT_EQ(moved[0].tokens, 73);
  EXPECT_EQ(moved[1].tokens, 4);
  const auto cut = chunks(comma + "\na,b,c,d,");
  EXPECT_EQ(cut[0].tokens, 75);
  EXPECT_EQ(cut[1].tokens, 6);
  EXPECT_EQ(chunks("").size(), 1u);
  EXPECT_FLOAT_EQ(chunks("a (b:1.5)")[0].weights[2], 1.5f);
}

}  // namespace
}  // namespace gesso
