#include "io/zip_directory.h"

#include <gtest/gtest.h>

#include "pickles.h"
#include "temp_folder.h"

namespace gesso {
namespace {

using testing::pickles::bytes;

struct Entry {
  std::string name, data;
  uint16_t method = 0, flags = 0;
  uint32_t claims = 0;  ///< bytes beyond those that are there
};

std::string archive(const std::vector<Entry>& entries, const std::string& comment = "") {
  std::string file, directory;
  for (const Entry& e : entries) {
    const std::string sizes = bytes(e.data.size() + e.claims, 4) + bytes(e.data.size() + e.claims, 4);
    const std::string head = bytes(e.flags, 2) + bytes(e.method, 2) + bytes(0, 8) + sizes + bytes(e.name.size(), 2);
    directory += "PK\x01\x02" + bytes(0, 4) + head + bytes(0, 12) + bytes(file.size(), 4) + e.name;
    file += "PK\x03\x04" + bytes(0, 2) + head + bytes(0, 2) + e.name + e.data;
  }
  const std::string count = bytes(entries.size(), 2);
  return file + directory + "PK\x05\x06" + bytes(0, 4) + count + count + bytes(directory.size(), 4) +
         bytes(file.size(), 4) + bytes(comment.size(), 2) + comment;
}

std::vector<ZipEntry> read_entries(const std::string& file) {
  return read_zip_directory(std::as_bytes(std::span(file.data(), file.size())), "x.zip");
}

TEST(ZipDirectory, ReadsEntries) {
  const std::string file = archive({{"a", "hello"}, {"b/c", ""}, {"d", "xyz", 8}}, "a comment PK\x05\x06");
  const auto entries = read_entries(file);
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(file.substr(entries[0].offset, entries[0].bytes), "hello");
  EXPECT_EQ(entries[1].name, "b/c");
  EXPECT_EQ(entries[2].method, 8);
  EXPECT_TRUE(read_entries(archive({})).empty());
}

TEST(ZipDirectory, RefusesWhatIsDamaged) {
  EXPECT_REFUSED(read_entries("PK"), ErrorCode::kBadFile, "too short");
  EXPECT_REFUSED(read_entries("PK\x03\x04" + std::string(40, '\0')), ErrorCode::kBadFile, "directory");
  EXPECT_REFUSED(read_entries(archive({{"a", "b", 0, 1}})), ErrorCode::kBadFile, "'a' is encrypted");
  EXPECT_REFUSED(read_entries(archive({{"a", "b"}, {"a", "c"}})), ErrorCode::kBadFile, "'a' twice");
  EXPECT_REFUSED(read_entries(archive({{"a", "b", 0, 0, 1000}})), ErrorCode::kBadFile, "'a' is cut short");
  std::string file = archive({{"a", "b"}});
  const size_t end = file.size() - 22;
  const auto with = [&](size_t at, uint64_t value, int size) {
    return file.substr(0, at) + bytes(value, size) + file.substr(at + static_cast<size_t>(size));
  };
  EXPECT_REFUSED(read_entries(with(end + 4, 3, 2)), ErrorCode::kUnsupported, "volume");
  EXPECT_REFUSED(read_entries(with(end + 8, 0xfffefffe, 4)), ErrorCode::kBadFile, "number of entries");
  EXPECT_REFUSED(read_entries(with(end + 12, 0xfffffffe, 4)), ErrorCode::kBadFile, "outside");
  EXPECT_REFUSED(read_entries(with(end + 16, 0xfffffffe, 4)), ErrorCode::kBadFile, "outside");
  const size_t central = file.find("PK\x01\x02");
  EXPECT_REFUSED(read_entries(with(central + 42, 5, 4)), ErrorCode::kBadFile, "not where");
  EXPECT_REFUSED(read_entries(with(central + 28, 0xffff, 2)), ErrorCode::kBadFile, "cut short");
  EXPECT_REFUSED(read_entries(with(central + 24, 7, 4)), ErrorCode::kBadFile, "two different sizes");
  const std::string locator = "PK\x06\x07" + bytes(0, 4) + bytes(1u << 30, 8) + bytes(1, 4);
  EXPECT_REFUSED(read_entries(file.substr(0, end) + locator + file.substr(end)), ErrorCode::kBadFile, "zip64");
}

}  // namespace
}  // namespace gesso
