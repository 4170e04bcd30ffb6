#include "media/names.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/files.h"
#include "temp_folder.h"

namespace gesso {
namespace {

namespace fs = std::filesystem;
using testing::put;
using testing::TempFolder;

std::string text(const fs::path& path) {
  return read_file(path, 1000);
}

std::vector<std::string> written(const TempFolder& folder, const char* name, int count,
                                 std::optional<int64_t> first = std::nullopt) {
  OutputNames names(folder / name, count, first);
  std::vector<std::string> files;
  for (int i = 0; i < count; ++i) {
    const fs::path path = names.write(fmt::format("picture {}", i));
    EXPECT_EQ(text(path), fmt::format("picture {}", i));
    files.push_back(path.filename().string());
  }
  return files;
}

using Names = std::vector<std::string>;

TEST(Names, FormatByExtension) {
  EXPECT_EQ(picture_format("a.png"), PictureFormat::kPng);
  EXPECT_EQ(picture_format("a.b.JPG"), PictureFormat::kJpeg);
  EXPECT_EQ(picture_format("x/a.jpeg"), PictureFormat::kJpeg);
  EXPECT_EQ(picture_format("a.webp"), PictureFormat::kWebp);
  for (const char* name : {"a.bmp", "a", "png", ".png", "a.png ", "", "folder.png/"})
    EXPECT_REFUSED(picture_format(name), ErrorCode::kUsage, "must end in .png, .jpg, .jpeg or .webp");
}

TEST(Names, OnePictureReplacesWhatTheUserNamed) {
  const TempFolder folder;
  put(folder / "out.png", "old");
  EXPECT_EQ(written(folder, "out.png", 1), Names{"out.png"});
  EXPECT_EQ(written(folder, "new folder/100% %s.png", 1), Names{"100% %s.png"});
}

TEST(Names, BatchesNeverReplace) {  // I13
  const TempFolder folder;
  put(folder / "out.png", "old");
  put(folder / "out_0002.png", "old");
  EXPECT_EQ(written(folder, "out.png", 4), (Names{"out_0001.png", "out_0003.png", "out_0004.png", "out_0005.png"}));
  EXPECT_EQ(written(folder, "out.png", 2), (Names{"out_0006.png", "out_0007.png"}));
  EXPECT_EQ(text(folder / "out.png"), "old");
  EXPECT_EQ(text(folder / "out_0002.png"), "old");
  EXPECT_EQ(written(folder, "out.png", 1, 9999), Names{"out_9999.png"});
  EXPECT_EQ(written(folder, "out.png", 2, 9999), (Names{"out_10000.png", "out_10001.png"}));
  EXPECT_REFUSED(OutputNames("out.png", 1, -1), ErrorCode::kUsage, "0 or more");
}

TEST(Names, NumberFields) {
  const TempFolder folder;
  EXPECT_EQ(written(folder, "%d.png", 2), (Names{"0.png", "1.png"}));
  EXPECT_EQ(written(folder, "%d.png", 1), Names{"2.png"});
  EXPECT_EQ(written(folder, "a_%04d_b.jpg", 2, 5), (Names{"a_0005_b.jpg", "a_0006_b.jpg"}));
  EXPECT_EQ(written(folder, "w%3d.png", 1), Names{"w  0.png"});
  EXPECT_EQ(written(folder, "50%% %02d %d.png", 1), Names{"50% 00 %d.png"});
  EXPECT_EQ(written(folder, "%%d%s%1234d%.png", 1), Names{"%%d%s%1234d%.png"});
  EXPECT_EQ(written(folder, "%%%d.png", 1), Names{"%0.png"});
}

TEST(Names, TwoWritersShareTheNumbers) {
  const TempFolder folder;
  const auto write = [&folder] {
    OutputNames names(folder / "out.png", 20);
    for (int i = 0; i < 20; ++i) names.write("x");
  };
  std::thread one(write), two(write);
  one.join();
  two.join();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 40);
  EXPECT_TRUE(fs::exists(folder / "out_0040.png"));
}

TEST(Names, WhatCannotBeWrittenIsAnErrorNotALoop) {
  const TempFolder folder;
  put(folder / "file", "x");
  EXPECT_REFUSED(written(folder, "file/out.png", 1), ErrorCode::kIo, "file");
  EXPECT_REFUSED(written(folder, "file/out.png", 2), ErrorCode::kIo, "file");
  fs::create_directory(folder / "dir.png");
  EXPECT_REFUSED(write_image(folder / "dir.png", "x"), ErrorCode::kIo, "dir.png");
  EXPECT_REFUSED(written(folder, ("%d" + std::string(300, 'x') + ".png").c_str(), 1), ErrorCode::kIo, "too long");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 2) << "a temporary is left";
}

TEST(Names, LongNamesAreCutOnACharacterBorder) {  // I14
  EXPECT_EQ(fitted_file_name("abc", ".png"), "abc.png");
  const std::string cats = [] {
    std::string s;
    for (int i = 0; i < 100; ++i) s += "猫🎨";
    return s;
  }();
  const std::string name = fitted_file_name(cats, "_0001.png");
  EXPECT_LE(name.size(), 255u);
  EXPECT_GT(name.size(), 251u);
  EXPECT_TRUE(name.ends_with("猫_0001.png") || name.ends_with("🎨_0001.png")) << name;
  EXPECT_REFUSED(fitted_file_name(cats, std::string(255, 'x')), ErrorCode::kUsage, "file name");

  const TempFolder folder;
  EXPECT_EQ(written(folder, (cats + ".png").c_str(), 2).size(), 2u);
  EXPECT_EQ(written(folder, (cats + ".png").c_str(), 1).size(), 1u);
}

TEST(Names, StemFromAnyText) {  // I14
  EXPECT_EQ(stem_from_text("a/b\\c: \"x\"?\n100%"), "a_b_c_ _x___100_");
  EXPECT_EQ(stem_from_text("../../etc/passwd"), "_.._etc_passwd");
  EXPECT_EQ(stem_from_text("-rf ."), "rf");
  EXPECT_EQ(stem_from_text(" . "), "_");
  EXPECT_EQ(stem_from_text(""), "_");
  EXPECT_EQ(stem_from_text("猫\xff🎨"), "猫\xef\xbf\xbd🎨");
}

}  // namespace
}  // namespace gesso
