#include "text/clip_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utf8proc.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <zlib.h>

#include <array>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <stdexcept>

#include "base/error.h"
#include "base/unicode.h"

namespace gesso {
namespace {

const ClipTokenizer& clip_tokenizer() {
  static const ClipTokenizer instance;
  return instance;
}

using Ids = std::vector<int32_t>;

// T14; the ids are those of CLIPTokenizer of transformers 5.24 over the same vocabulary, as everywhere in this file.
TEST(ClipTokenizer, ReferenceIds) {
  EXPECT_EQ(clip_tokenizer().encode("a photo of a fox"), (Ids{320, 1125, 539, 320, 3240}));
  EXPECT_EQ(clip_tokenizer().encode("this is a test string of text"), (Ids{589, 533, 320, 1628, 9696, 539, 4160}));
  EXPECT_EQ(clip_tokenizer().encode(""), Ids{});
  EXPECT_EQ(clip_tokenizer().encode(" \n\u3000"), Ids{});
  EXPECT_EQ(clip_tokenizer().token(3240), "fox</w>");
}

std::string gunzip(const std::string& name) {
  std::string text;
  const gzFile file = gzopen((std::string(GESSO_TEST_DATA "/tokenizer/") + name).c_str(), "rb");
  if (!file) throw std::runtime_error("no " + name);
  std::array<char, 1 << 16> block;
  for (int got = 0; (got = gzread(file, block.data(), block.size())) > 0;) text.append(block.data(), got);
  gzclose(file);
  return text;
}

Ids read_ids(const std::string& line) {
  std::istringstream stream(line);
  return Ids(std::istream_iterator<int32_t>(stream), {});
}

TEST(ClipTokenizer, GoldenLines) {
  std::istringstream lines(gunzip("clip_lines.jsonl.gz")), ids(gunzip("clip_ids.txt.gz"));
  int count = 0;
  for (std::string line, wanted; std::getline(lines, line) && std::getline(ids, wanted); ++count) {
    const auto text = nlohmann::json::parse(line).get<std::string>();
    ASSERT_EQ(clip_tokenizer().encode(text), read_ids(wanted)) << line;
  }
  EXPECT_EQ(count, 10000);
}

TEST(ClipTokenizer, GoldenNamed) {
  std::ifstream file(GESSO_TEST_DATA "/tokenizer/clip_named.json");
  const auto named = nlohmann::json::parse(file);
  EXPECT_FALSE(named.empty());
  for (const auto& [text, ids] : named.items()) EXPECT_EQ(clip_tokenizer().encode(text), ids.get<Ids>()) << text;
}

// T16
TEST(ClipTokenizer, NormalisesAsTheReference) {
  EXPECT_EQ(clip_tokenizer().encode("a\u0301e\u0344"), (Ids{7261, 40520, 136, 479}));
  EXPECT_EQ(clip_tokenizer().encode("\u0130stanbul"), (Ids{328, 16384, 11231}));
  EXPECT_EQ(clip_tokenizer().encode("Σας ΣΑΣ"), (Ids{139, 225, 138, 109, 139, 480, 139, 225, 138, 109, 139, 481}));
  EXPECT_EQ(clip_tokenizer().encode("Cafe\u0301 A\u030angstro\u0308m"),
            clip_tokenizer().encode("caf\u00e9 \u00e5ngstr\u00f6m"));
}

// T05
TEST(ClipTokenizer, WhiteSpaceOnlySeparates) {
  const auto ids = clip_tokenizer().encode("a , cat");
  for (const auto text : {"a, cat", "a\n,\tcat", " a\u00a0,\r\ncat\u2003", "A,CAT"})
    EXPECT_EQ(clip_tokenizer().encode(text), ids) << text;
}

TEST(ClipTokenizer, SpecialTokens) {
  EXPECT_EQ(clip_tokenizer().encode("<|STARTOFTEXT|> x<|endoftext|><|endoftext|>"), (Ids{49406, 343, 49407, 49407}));
  EXPECT_EQ(clip_tokenizer().encode("<|<|endoftext|> <|endoftext"), (Ids{27, 347, 49407, 27, 347, 40786, 4160}));
}

TEST(ClipTokenizer, InvalidUtf8IsReplaced) {
  EXPECT_EQ(clip_tokenizer().encode("a\xff\xfe b\xe2\x82"), clip_tokenizer().encode("a\uFFFD\uFFFD b\uFFFD"));
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::string bytes(random() % 40, '\0');
    for (auto& byte : bytes) byte = static_cast<char>(random());
    for (const int32_t id : clip_tokenizer().encode(bytes)) ASSERT_TRUE(id >= 0 && id < ClipTokenizer::kVocabulary);
  }
}

TEST(ClipTokenizer, TokensEndWordsAndSpell) {
  EXPECT_TRUE(clip_tokenizer().ends_word(3240));
  EXPECT_TRUE(clip_tokenizer().ends_word(267));
  EXPECT_FALSE(clip_tokenizer().ends_word(64));
  EXPECT_FALSE(clip_tokenizer().ends_word(-1));
  EXPECT_FALSE(clip_tokenizer().ends_word(ClipTokenizer::kVocabulary));
  EXPECT_EQ(clip_tokenizer().token(0), "!");
  EXPECT_EQ(clip_tokenizer().token(256), "!</w>");
  EXPECT_EQ(clip_tokenizer().token(ClipTokenizer::kEos), "<|endoftext|>");
  EXPECT_THROW(clip_tokenizer().token(-1), Error);
  EXPECT_THROW(clip_tokenizer().token(ClipTokenizer::kVocabulary), Error);
}

TEST(ClipTokenizer, AMegabyteWordIsNotQuadratic) {
  const std::clock_t start = std::clock();  // processor time: the machine may be busy
  const auto ids = clip_tokenizer().encode(std::string(1 << 20, 'a'));
  EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 30);  // 0.2 s; with sanitizers a few; quadratic takes hours
  std::string spelled;
  for (const int32_t id : ids) spelled += clip_tokenizer().token(id);
  EXPECT_EQ(spelled, std::string(1 << 20, 'a') + "</w>");
}

struct Pcre {
  explicit Pcre(const char* pattern)
      : code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern), PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &error,
                           &offset, nullptr)),
        data(pcre2_match_data_create_from_pattern(code, nullptr)) {
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  }
  ~Pcre() {
    pcre2_match_data_free(data);
    pcre2_code_free(code);
  }

  std::vector<std::string> words(const std::string& text) const {
    std::vector<std::string> result;
    size_t position = 0;
    while (pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), position, PCRE2_NO_UTF_CHECK, data,
                       nullptr) > 0) {
      const auto* span = pcre2_get_ovector_pointer(data);
      result.push_back(text.substr(span[0], span[1] - span[0]));
      position = span[1];
    }
    return result;
  }

  int error = 0;
  size_t offset = 0;
  pcre2_code* code;
  pcre2_match_data* data;
};

std::vector<std::string> our_words(std::u32string_view text) {
  std::vector<std::string> result;
  for (const auto word : clip_words(text)) result.push_back(encode_utf8(word));
  return result;
}

// The two libraries may know different versions of Unicode, and PCRE2 takes U+180E for a space.
bool comparable(const Pcre& assigned, char32_t c) {
  return c != 0x180E && utf8proc_category(static_cast<int32_t>(c)) != UTF8PROC_CATEGORY_CN &&
         !(c >= 0xD800 && c < 0xE000) && !assigned.words(encode_utf8({&c, 1})).empty();
}

constexpr const char* kSplit = R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)";
constexpr const char* kAssigned = R"(\P{Cn})";

TEST(ClipWords, EveryCharacterSplitsAsPcre) {
  const Pcre pcre(kSplit), assigned(kAssigned);
  for (char32_t c = 1; c < 0x110000; ++c) {
    if (!comparable(assigned, c)) continue;
    const std::u32string text = {U'a', c, U'1', c, U'!', c};
    ASSERT_EQ(our_words(text), pcre.words(encode_utf8(text))) << static_cast<uint32_t>(c);
  }
}

TEST(ClipWords, RandomTextSplitsAsPcre) {
  const Pcre pcre(kSplit), assigned(kAssigned);
  std::mt19937 random(11);
  const std::u32string common = U"''''stremvld  \t\n09½,.!?-_éß中あ🦊\u0301\u200d";
  for (int round = 0; round < 5000; ++round) {
    std::u32string text;
    for (size_t count = random() % 20; count > 0; --count) {
      const char32_t c = random() % 4 ? common[random() % common.size()] : random() % 0x3000;
      if (comparable(assigned, c)) text += c;
    }
    ASSERT_EQ(our_words(text), pcre.words(encode_utf8(text))) << encode_utf8(text);
  }
}

}  // namespace
}  // namespace gesso
