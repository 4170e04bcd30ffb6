#include "media/metadata.h"

#include <gtest/gtest.h>

#include <random>

#include "media/codec.h"
#include "media/exif.h"
#include "media/test_pictures.h"
#include "media/unicode.h"
#include "temp_folder.h"

namespace gesso {
namespace {

using namespace std::string_literals;
using testing::gradient;
using testing::png_chunk;

const PictureFormat kFormats[] = {PictureFormat::kPng, PictureFormat::kJpeg, PictureFormat::kWebp};

std::string encode(PictureFormat format, const PictureInfo& info, int channels = 3) {
  return encode_image(gradient(16, 8, channels), format, {}, info);
}

/// Text as nasty as a person or a program can make it.
std::string random_text(std::mt19937& random) {
  static const char* const pieces[] = {"\n",
                                       "\r\n",
                                       "\"",
                                       "\\",
                                       ",",
                                       ":",
                                       "Negative prompt: ",
                                       "\nSteps: 20, Sampler: Euler, Seed: 1\n",
                                       "&amp;",
                                       "<",
                                       ">",
                                       "</gesso:request>",
                                       "]]>",
                                       "{\"a\":[1,2]}",
                                       "\t",
                                       " ",
                                       "é",
                                       "猫",
                                       "кот",
                                       "🎨",
                                       "\xcc\x81",
                                       "a",
                                       "Z",
                                       "0",
                                       "%d",
                                       "\x7f",
                                       "\xc2\x80",
                                       "\xef\xbf\xbf"};
  std::string text;
  for (size_t count = random() % 40; count > 0; --count) text += pieces[random() % std::size(pieces)];
  return text;
}

TEST(Metadata, RoundTripOfAnyText) {  // M01, M02
  std::mt19937 random(11);
  for (const PictureFormat format : kFormats) {
    const std::string bare = encode(format, {});
    for (int round = 0; round < 300; ++round) {
      const PictureInfo info{random_text(random), random_text(random)};
      const std::string bytes = with_picture_info(bare, info);
      ASSERT_EQ(read_picture_info(bytes), info) << to_string(format) << " round " << round;
    }
  }
}

TEST(Metadata, PixelsStayAndTwiceIsOnce) {
  const PictureInfo first{"a cat\nSteps: 1, Seed: 2, Size: 8x8", R"({"prompt":"a cat"})"}, second{"b", ""};
  for (const PictureFormat format : kFormats) {
    for (const int channels : {3, 4}) {
      const std::string bare = encode(format, {}, channels), once = with_picture_info(bare, first);
      EXPECT_EQ(testing::largest_difference(decode_image(once, "x"), decode_image(bare, "x")), 0) << to_string(format);
      EXPECT_EQ(with_picture_info(once, first), once) << to_string(format);
      EXPECT_EQ(read_picture_info(with_picture_info(once, second)), second) << to_string(format);
      EXPECT_EQ(with_picture_info(once, {}), once);
      EXPECT_EQ(encode(format, first, channels), once);
    }
  }
}

TEST(Metadata, TextOfAnyLength) {  // a JPEG segment holds 64 KB
  for (const size_t size : {32'000u, 32'750u, 33'000u, 65'536u, 400'000u}) {
    const PictureInfo info{std::string(size, 'p') + "é", std::string(size, 'j') + "猫"};
    for (const PictureFormat format : kFormats)
      EXPECT_TRUE(read_picture_info(encode(format, info)) == info) << to_string(format) << " " << size;
  }
}

TEST(Metadata, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  for (const PictureFormat format : kFormats)
    EXPECT_EQ(read_picture_info(encode(format, {"a\xff"
                                                "b",
                                                "\xe7\x8c"})),
              (PictureInfo{"a\xef\xbf\xbd"
                           "b",
                           "\xef\xbf\xbd"}))
        << to_string(format);
}

TEST(Metadata, NothingToRead) {
  for (const PictureFormat format : kFormats) EXPECT_EQ(read_picture_info(encode(format, {})), PictureInfo{});
  EXPECT_EQ(read_picture_info("hello"), PictureInfo{});
  EXPECT_EQ(read_picture_info(""), PictureInfo{});
  EXPECT_REFUSED(with_picture_info("\x89PNG\r\n\x1a\n", {"a", "b"}), ErrorCode::kBadFile, "damaged");
  EXPECT_EQ(read_picture_info(with_picture_info(encode(PictureFormat::kPng, {}) + "trailing", {"a", "b"})).parameters,
            "a");
  EXPECT_REFUSED(with_picture_info("hello", {"a", "b"}), ErrorCode::kUnsupported, "PNG, JPEG and WebP");
}

TEST(Metadata, PngTextAsOthersWriteIt) {
  const auto read = [](const std::string& chunk) {
    return read_picture_info(testing::RawPng{1, 1, 8, 0, "\0\x07"s, chunk}.bytes()).parameters;
  };
  EXPECT_EQ(read(png_chunk("tEXt", "parameters\0caf\xe9\nSteps: 1"s)), "café\nSteps: 1");
  EXPECT_EQ(read(png_chunk("zTXt", "parameters\0\0"s + testing::deflated("caf\xe9"))), "café");
  EXPECT_EQ(read(png_chunk("iTXt", "parameters\0\1\0en\0x\0"s + testing::deflated("猫"))), "猫");
  EXPECT_EQ(read(png_chunk("iTXt", "parameters\0\0\0\0\0猫"s)), "猫");
  EXPECT_EQ(read(png_chunk("tEXt", "Comment\0x"s) + png_chunk("tEXt", "parameters\0y"s)), "y");
  for (const auto& bad : {"parameters"s, "parameters\0"s, "parameters\0\0"s, "parameters\0\1\0"s, "parameters\0\0\0zz"s,
                          "parameters\0\1\0\0\0zz"s})
    for (const char* type : {"zTXt", "iTXt"}) EXPECT_EQ(read(png_chunk(type, bad)), "");
}

TEST(Metadata, UserCommentAsOthersWriteIt) {
  const std::string ours = build_exif("a猫🎨");
  EXPECT_EQ(parse_exif(ours).user_comment, "a猫🎨");
  EXPECT_EQ(parse_exif("Exif\0\0"s + ours).user_comment, "a猫🎨");
  // the bytes that piexif's UserComment has for "a"
  EXPECT_NE(build_exif("a").find("UNICODE\0\0a"s), std::string::npos);

  const auto little = [](const std::string& comment) {
    const auto le = [](uint32_t v, int n) {
      std::string s;
      for (int i = 0; i < n; ++i) s += static_cast<char>(v >> (8 * i));
      return s;
    };
    return "II*\0"s + le(8, 4) + le(1, 2) + le(0x8769, 2) + le(4, 2) + le(1, 4) + le(26, 4) + le(0, 4) + le(1, 2) +
           le(0x9286, 2) + le(7, 2) + le(static_cast<uint32_t>(comment.size()), 4) + le(44, 4) + le(0, 4) + comment;
  };
  EXPECT_EQ(parse_exif(little("UNICODE\0a\0b\0"s)).user_comment, "ab");
  EXPECT_EQ(parse_exif(little("UNICODE\0\0a\0b"s)).user_comment, "ab");
  EXPECT_EQ(parse_exif(little("UNICODE\0\xff\xfe\x2b\x73"s)).user_comment, "猫");
  EXPECT_EQ(parse_exif(little("ASCII\0\0\0hello\0\0"s)).user_comment, "hello");
  EXPECT_EQ(parse_exif(little("\0\0\0\0\0\0\0\0h\xc3\xa9"s)).user_comment, "hé");
  EXPECT_EQ(parse_exif(little("JIS\0\0\0\0\0abc"s)).user_comment, "");
  EXPECT_EQ(parse_exif(little("ASCII"s)).user_comment, "");
}

TEST(Metadata, DamageNeverEscapes) {
  std::mt19937 random(5);
  for (const PictureFormat format : kFormats) {
    const std::string whole = encode(format, {"a cat, \"quoted\"", R"({"prompt":"猫 & <dog>"})"});
    for (size_t size = 0; size < whole.size(); size += 5) {
      read_picture_info(whole.substr(0, size));
      picture_orientation(whole.substr(0, size));
    }
    for (int round = 0; round < 3000; ++round) {
      std::string bad = whole;
      for (int i = 0; i < 3; ++i) bad[random() % std::min<size_t>(bad.size(), 500)] = static_cast<char>(random());
      const PictureInfo info = read_picture_info(bad);
      EXPECT_EQ(valid_utf8(info.parameters), info.parameters);
      EXPECT_EQ(valid_utf8(info.request_json), info.request_json);
      const int orientation = picture_orientation(bad);
      EXPECT_TRUE(orientation >= 1 && orientation <= 8);
      try {
        with_picture_info(bad, {"a", "b"});
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace gesso
