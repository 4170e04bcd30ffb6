#include "io/zip_directory.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "io/printable.h"

namespace gesso {
namespace {

using Bytes = std::span<const std::byte>;

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint64_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20;
constexpr uint32_t k32 = 0xffffffff;  // "see the zip64 record"
constexpr uint16_t k16 = 0xffff;

/// A little-endian number of `size` bytes. The caller has checked that it is there.
uint64_t number(Bytes b, uint64_t at, int size) {
  uint64_t value = 0;
  for (int i = 0; i < size; ++i) value |= std::to_integer<uint64_t>(b[at + static_cast<uint64_t>(i)]) << (8 * i);
  return value;
}

class Directory {
 public:
  Directory(Bytes file, const std::filesystem::path& path) : file_(file), path_(path) {}

  std::vector<ZipEntry> read() {
    find();
    std::vector<ZipEntry> entries;
    // An entry takes at least its fixed part, so this reserves no more than the directory is long.
    entries.reserve(static_cast<size_t>(std::min(count_, size_ / kCentralSize)));
    uint64_t at = begin_;
    for (uint64_t i = 0; i < count_; ++i) entries.push_back(entry(at));
    check_names(entries);
    return entries;
  }

 private:
  [[noreturn]] void damaged(std::string_view what) const {
    fail(ErrorCode::kBadFile, "{} is a damaged or truncated zip archive: {}; download or copy it again", quoted(path_),
         what);
  }

  bool holds(uint64_t at, uint64_t bytes) const { return at <= file_.size() && bytes <= file_.size() - at; }

  /// The last end record whose comment reaches exactly to the end of the file.
  uint64_t find_end() const {
    if (file_.size() < kEndSize) damaged("it is too short");
    const uint64_t last = file_.size() - kEndSize;
    for (uint64_t back = 0; back <= std::min<uint64_t>(last, k16); ++back)
      if (number(file_, last - back, 4) == kEnd && number(file_, last - back + 20, 2) == back) return last - back;
    damaged("its directory, which stands at the end, is missing");
  }

  void find() {
    const uint64_t end = find_end();
    const uint64_t disks = number(file_, end + 4, 2);
    if (disks != 0 && disks != k16)
      fail(ErrorCode::kUnsupported, "{} is one volume of several of a zip archive: join them first", quoted(path_));
    count_ = number(file_, end + 10, 2);
    size_ = number(file_, end + 12, 4);
    begin_ = number(file_, end + 16, 4);
    uint64_t limit = end;
    if (end >= kLocatorSize && number(file_, end - kLocatorSize, 4) == kLocator64) {
      const uint64_t end64 = number(file_, end - kLocatorSize + 8, 8);
      if (!holds(end64, kEnd64Size) || number(file_, end64, 4) != kEnd64) damaged("its zip64 record is not there");
      count_ = number(file_, end64 + 32, 8);
      size_ = number(file_, end64 + 40, 8);
      begin_ = number(file_, end64 + 48, 8);
      limit = end64;
    }
    if (begin_ > limit || size_ > limit - begin_) damaged("its directory lies outside the file");
    if (count_ > size_ / kCentralSize) damaged("its directory is shorter than its number of entries");
  }

  /// The entry at `at`, which moves past it.
  ZipEntry entry(uint64_t& at) const {
    const uint64_t end = begin_ + size_;
    if (end - at < kCentralSize || number(file_, at, 4) != kCentral) damaged("an entry of its directory is damaged");
    const uint64_t name_size = number(file_, at + 28, 2), extra_size = number(file_, at + 30, 2);
    const uint64_t comment_size = number(file_, at + 32, 2);
    if (end - at - kCentralSize < name_size + extra_size + comment_size)
      damaged("an entry of its directory is cut short");
    ZipEntry e;
    e.name.assign(reinterpret_cast<const char*>(file_.data() + at + kCentralSize), name_size);
    e.method = static_cast<uint16_t>(number(file_, at + 10, 2));
    if (number(file_, at + 8, 2) & 1)
      fail(ErrorCode::kBadFile, "{}: the entry {} is encrypted", quoted(path_), printable(e.name));
    uint64_t whole = number(file_, at + 24, 4);
    e.bytes = number(file_, at + 20, 4);
    uint64_t header = number(file_, at + 42, 4);
    widen(file_.subspan(at + kCentralSize + name_size, extra_size), whole, e.bytes, header);
    if (!holds(header, kLocalSize) || number(file_, header, 4) != kLocal)
      damaged(fmt::format("the entry {} is not where the directory says", printable(e.name)));
    e.offset = header + kLocalSize + number(file_, header + 26, 2) + number(file_, header + 28, 2);
    if (!holds(e.offset, e.bytes)) damaged(fmt::format("the entry {} is cut short", printable(e.name)));
    if (e.method == 0 && whole != e.bytes)
      damaged(fmt::format("the entry {} has two different sizes, {} and {} bytes", printable(e.name), whole, e.bytes));
    at += kCentralSize + name_size + extra_size + comment_size;
    return e;
  }

  /// Takes the 64-bit values of a zip64 extra field, in the order that the format gives them.
  void widen(Bytes extra, uint64_t& whole, uint64_t& stored, uint64_t& header) const {
    while (extra.size() >= 4) {
      const uint64_t id = number(extra, 0, 2), size = number(extra, 2, 2);
      extra = extra.subspan(4);
      if (size > extra.size()) damaged("an extra field of its directory is cut short");
      if (id == 1) {
        uint64_t at = 0;
        for (uint64_t* field : {&whole, &stored, &header}) {
          if (*field != k32) continue;
          if (size - at < 8) damaged("a zip64 field of its directory is cut short");
          *field = number(extra, at, 8);
          at += 8;
        }
      }
      extra = extra.subspan(size);
    }
  }

  void check_names(const std::vector<ZipEntry>& entries) const {
    std::vector<std::string_view> names;
    names.reserve(entries.size());
    for (const ZipEntry& e : entries) names.push_back(e.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end())
      fail(ErrorCode::kBadFile, "{}: the archive has the entry {} twice", quoted(path_), printable(*twice));
  }

  Bytes file_;
  const std::filesystem::path& path_;
  uint64_t begin_ = 0, size_ = 0, count_ = 0;
};

}  // namespace

std::vector<ZipEntry> read_zip_directory(std::span<const std::byte> file, const std::filesystem::path& path) {
  return Directory(file, path).read();
}

}  // namespace gesso
