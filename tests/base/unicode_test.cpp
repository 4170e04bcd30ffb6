#include "base/unicode.h"

#include <gtest/gtest.h>

#include <ctime>

namespace gesso {
namespace {

TEST(Unicode, DecodesAndEncodesEveryLength) {
  const std::string text = "a\u00e9\u20ac\U0001F98A";
  EXPECT_EQ(decode_utf8(text), U"a\u00e9\u20ac\U0001F98A");
  EXPECT_EQ(encode_utf8(decode_utf8(text)), text);
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string bytes;
    append_utf8(bytes, c);
    size_t position = 0;
    ASSERT_EQ(next_code_point(bytes, position), c);
    ASSERT_EQ(position, bytes.size());
    ASSERT_EQ(previous_code_point(bytes, position), c);
    ASSERT_EQ(position, 0u);
  }
}

// The example of the Unicode standard, section 3.9, and what bytes.decode(errors="replace") gives in Python.
TEST(Unicode, ReplacesWhatIsNotUtf8) {
  using namespace std::string_literals;
  EXPECT_EQ(decode_utf8("a\xF1\x80\x80\xE1\x80\xC2"
                        "b\x80"
                        "c\x80\xBF"
                        "d"),
            U"a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  EXPECT_EQ(decode_utf8("\xC0\xAF"), U"\uFFFD\uFFFD");                      // overlong
  EXPECT_EQ(decode_utf8("\xED\xA0\x80"), U"\uFFFD\uFFFD\uFFFD");            // surrogate
  EXPECT_EQ(decode_utf8("\xF4\x90\x80\x80"), U"\uFFFD\uFFFD\uFFFD\uFFFD");  // above U+10FFFF
  EXPECT_EQ(decode_utf8("\xF0\x9F\xA6"), U"\uFFFD");                        // cut short
  EXPECT_EQ(decode_utf8("a\0b"s), U"a\0b"s);
  EXPECT_EQ(valid_utf8("ok \xFF"), "ok \uFFFD");
}

TEST(Unicode, KnowsLettersNumbersAndSpaces) {
  for (const char32_t c : U"aZ\u00e9\u00df\u01c5\u02b0\u4e2d\u05d0\u0e01") EXPECT_TRUE(c == 0 || is_letter(c));
  for (const char32_t c : U"7\u0663\u00bd\u2167\u2460") EXPECT_TRUE(c == 0 || is_number(c));
  for (const char32_t c : U" \t\n\v\f\r\u0085\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000")
    EXPECT_TRUE(c == 0 || is_space(c)) << static_cast<uint32_t>(c);
  for (const char32_t c : U"_'\u0301\u200b\u180e\u001c\uFFFD\U0001F98A")
    EXPECT_FALSE(is_letter(c) || is_number(c) || is_space(c)) << static_cast<uint32_t>(c);
}

TEST(Unicode, LowersEachCharacterByItself) {
  EXPECT_EQ(to_lower(U"ÀÉ STRASSE ẞ ǅ"), U"àé strasse ß ǆ");
  EXPECT_EQ(to_lower(U"\u0130I"), U"i\u0307i");
  EXPECT_EQ(to_lower(U"ΣΑΣ"), U"σασ");
  EXPECT_EQ(to_lower(U"\U00010400\u13a0"), U"\U00010428\uab70");
}

TEST(Unicode, NormalisesToFormC) {
  EXPECT_EQ(nfc(U"e\u0301A\u030a"), U"\u00e9\u00c5");
  EXPECT_EQ(nfc(U"\u212b\u0344"), U"\u00c5\u0308\u0301");                     // singletons decompose
  EXPECT_EQ(nfc(U"q\u0307\u0323"), U"q\u0323\u0307");                         // marks in canonical order
  EXPECT_EQ(nfc(U"a\u0315\u0300\u05ae\u0300"), U"\u00e0\u05ae\u0300\u0315");  // the first mark composes
  EXPECT_EQ(nfc(U"\u1112\u1161\u11ab"), U"\ud55c");                           // Hangul
  EXPECT_EQ(nfc(U"\u0958"), U"\u0915\u093c");                                 // excluded from composition
  EXPECT_EQ(nfc(U"\ufb01 \u2460"), U"\ufb01 \u2460");                         // compatibility forms stay
}

TEST(Unicode, LongRunsOfMarksAreNotQuadratic) {
  std::u32string text = U"a";
  for (int i = 0; i < 200000; ++i) text += i % 2 ? U'\u0301' : U'\u0323';
  const std::clock_t start = std::clock();       // processor time: the machine may be busy
  EXPECT_EQ(nfc(text).size(), text.size() - 1);  // a and the first dot below compose, the rest not
  EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 30);
}

}  // namespace
}  // namespace gesso
