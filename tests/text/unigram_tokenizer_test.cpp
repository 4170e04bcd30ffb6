#include "text/unigram_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <stdexcept>

#include "base/error.h"

namespace gesso {
namespace {

using Ids = std::vector<int32_t>;

const UnigramTokenizer& unigram() {
  static const UnigramTokenizer instance(t5_vocabulary());
  return instance;
}

std::string read_packed(const std::string& name) {
  std::string text;
  const gzFile file = gzopen((std::string(GESSO_TEST_DATA "/tokenizer/") + name).c_str(), "rb");
  if (!file) throw std::runtime_error("no " + name);
  std::array<char, 1 << 16> block;
  for (int got = 0; (got = gzread(file, block.data(), block.size())) > 0;) text.append(block.data(), got);
  gzclose(file);
  return text;
}

TEST(UnigramTokenizer, GoldenLines) {
  std::istringstream lines(read_packed("clip_lines.jsonl.gz")), ids(read_packed("t5_ids.txt.gz"));
  int count = 0, wrong = 0;
  for (std::string line, wanted; std::getline(lines, line) && std::getline(ids, wanted); ++count) {
    std::istringstream stream(wanted);
    const Ids expected(std::istream_iterator<int32_t>(stream), {});
    const Ids actual = unigram().encode(nlohmann::json::parse(line).get<std::string>());
    if (actual == expected) continue;
    if (++wrong <= 5) {
      EXPECT_EQ(actual, expected) << line;
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(count, 10000);
}

TEST(UnigramTokenizer, GoldenNamed) {
  std::ifstream file(GESSO_TEST_DATA "/tokenizer/t5_named.json");
  const auto named = nlohmann::json::parse(file);
  EXPECT_GT(named.size(), 10u);
  for (const auto& [text, ids] : named.items()) EXPECT_EQ(unigram().encode(text), ids.get<Ids>()) << text;
}

TEST(UnigramTokenizer, AnyBytesAreText) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string bytes(random() % 60, ' ');
    for (char& c : bytes) c = static_cast<char>(random() % 5 ? random() : '<');
    for (const int32_t id : unigram().encode(bytes)) EXPECT_TRUE(id >= 0 && id < unigram().size());
  }
}

TEST(UnigramTokenizer, BestScoresWinAndUnknownLettersAreOne) {
  // ab and bc overlap: a + bc = -3 goes before ab + c = -4.
  const UnigramTokenizer small(SentencePieceModel{
      {{"<unk>", 0}, {"\u2581", -1}, {"a", -1}, {"ab", -2}, {"bc", -2}, {"c", -2}, {"b", -3}}, 0, ""});
  EXPECT_EQ(small.encode("abc"), (Ids{1, 2, 4}));
  EXPECT_EQ(small.encode("xyz a"), (Ids{1, 0, 1, 2}));
}

TEST(SentencePieceModel, DamagedFilesAreRefused) {
  const auto parse = [](const std::string& bytes) { (void)parse_sentencepiece_model(bytes, "x.model"); };
  for (const std::string& bytes :
       {std::string(), std::string("\x0a\xff\xff\xff\xff\x0f", 6), std::string("\x0a\x7f", 2), std::string("\x0f", 1),
        std::string(11, '\xff'), std::string("\x0a\x06\x15\x00\x00\x80\x7f\x20", 8)})
    EXPECT_THAT([&] { parse(bytes); }, ::testing::ThrowsMessage<Error>(::testing::HasSubstr("x.model")));
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 40, ' ');
    for (char& c : bytes) c = static_cast<char>(random() % 4 ? random() % 32 : random());
    try {
      parse(bytes);
    } catch (const Error&) {
    }
  }
}

TEST(Charsmap, DamagedRulesAreRefusedOrHarmless) {
  for (const std::string& blob :
       {std::string("abc"), std::string("\xff\xff\xff\x7f", 4), std::string("\x02\0\0\0xx", 6)})
    EXPECT_THROW(Charsmap{blob}, Error);
  const std::string real = t5_vocabulary().charsmap;
  std::mt19937 random(3);
  for (int i = 0; i < 20; ++i) {
    std::string blob = real;
    for (int k = 0; k < 3000; ++k) blob[4 + random() % (blob.size() - 4)] = static_cast<char>(random());
    (void)Charsmap(blob).normalise("ﬁne ½ e\u0301 日本 ｶﾞ text");
  }
}

}  // namespace
}  // namespace gesso
