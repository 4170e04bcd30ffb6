#include "media/exif.h"

#include <algorithm>
#include <cstdint>

#include "media/unicode.h"

namespace gesso {
namespace {

using namespace std::string_view_literals;

constexpr uint16_t kOrientation = 0x0112, kExifIfd = 0x8769, kUserComment = 0x9286;
constexpr uint16_t kAsciiText = 2, kShort = 3, kLong = 4, kUndefined = 7;
// What a UserComment begins with, eight bytes each.
constexpr auto kUnicode = "UNICODE\0"sv, kAscii = "ASCII\0\0\0"sv, kUnnamed = "\0\0\0\0\0\0\0\0"sv;

/// A TIFF structure in memory; reading outside it gives 0.
class Tiff {
 public:
  explicit Tiff(std::string_view data) : data_(data), big_endian_(data.starts_with("MM")) {}

  bool big_endian() const { return big_endian_; }
  uint32_t number(uint64_t at, int bytes) const {
    if (at + static_cast<uint64_t>(bytes) > data_.size()) return 0;
    uint32_t value = 0;
    for (int i = 0; i < bytes; ++i) {
      const int place = big_endian_ ? i : bytes - 1 - i;
      value = value << 8 | static_cast<unsigned char>(data_[at + static_cast<uint64_t>(place)]);
    }
    return value;
  }
  /// The 12-byte entry of a tag in the directory at `ifd`, or 0.
  uint64_t find(uint64_t ifd, uint16_t tag) const {
    const uint32_t count = number(ifd, 2);
    for (uint64_t at = ifd + 2, end = at + uint64_t{12} * count; at < end && at + 12 <= data_.size(); at += 12)
      if (number(at, 2) == tag) return at;
    return 0;
  }
  /// The bytes of an entry of a type of one byte an element.
  std::string_view bytes(uint64_t entry) const {
    const uint64_t count = number(entry + 4, 4), at = count <= 4 ? entry + 8 : number(entry + 8, 4);
    return at <= data_.size() && count <= data_.size() - at ? data_.substr(at, count) : std::string_view();
  }

 private:
  std::string_view data_;
  bool big_endian_;
};

/// Writers agree on big-endian in big-endian files (piexif, and so AUTOMATIC1111). In the others both occur, so the
/// zero bytes of Latin text decide.
bool looks_big_endian(std::string_view text) {
  size_t zeros[2] = {0, 0};
  for (size_t i = 0; i < text.size(); ++i) zeros[i % 2] += text[i] == 0;
  return zeros[0] >= zeros[1];
}

std::string decode_comment(std::string_view comment, bool big_endian_file) {
  const std::string_view code = comment.substr(0, 8);
  if (code.size() < 8) return {};
  std::string_view text = comment.substr(8);
  if (code == kUnicode) {
    if (text.starts_with("\xff\xfe")) return utf16_to_utf8(text.substr(2), false);
    if (text.starts_with("\xfe\xff")) return utf16_to_utf8(text.substr(2), true);
    return utf16_to_utf8(text, big_endian_file || looks_big_endian(text));
  }
  if (code != kAscii && code != kUnnamed) return {};
  while (text.ends_with('\0')) text.remove_suffix(1);
  return valid_utf8(text);
}

void put(std::string& data, uint32_t value, int bytes) {
  while (bytes-- > 0) data += static_cast<char>(value >> (8 * bytes));
}

/// A directory of one entry, and no next one.
void put_directory(std::string& data, uint16_t tag, uint16_t type, uint32_t count, uint32_t value) {
  put(data, 1, 2);
  put(data, tag, 2);
  put(data, type, 2);
  put(data, count, 4);
  put(data, value, 4);
  put(data, 0, 4);
}

}  // namespace

Exif parse_exif(std::string_view data) {
  if (data.starts_with("Exif\0\0"sv)) data.remove_prefix(6);
  Exif exif;
  if (!data.starts_with("II*\0"sv) && !data.starts_with("MM\0*"sv)) return exif;
  const Tiff tiff(data);
  const uint64_t ifd = tiff.number(4, 4);
  if (const uint64_t entry = tiff.find(ifd, kOrientation); entry && tiff.number(entry + 2, 2) == kShort) {
    const auto value = static_cast<int>(tiff.number(entry + 8, 2));
    if (value >= 1 && value <= 8) exif.orientation = value;
  }
  if (const uint64_t pointer = tiff.find(ifd, kExifIfd))
    if (const uint64_t entry = tiff.find(tiff.number(pointer + 8, 4), kUserComment))
      exif.user_comment = decode_comment(tiff.bytes(entry), tiff.big_endian());
  return exif;
}

std::vector<std::pair<std::string, std::string>> exif_texts(std::string_view data) {
  std::vector<std::pair<std::string, std::string>> texts;
  if (std::string comment = parse_exif(data).user_comment; !comment.empty())
    texts.emplace_back("UserComment", std::move(comment));
  if (data.starts_with("Exif\0\0"sv)) data.remove_prefix(6);
  if (!data.starts_with("II*\0"sv) && !data.starts_with("MM\0*"sv)) return texts;
  const Tiff tiff(data);
  constexpr std::pair<uint16_t, const char*> kTexts[] = {
      {0x010e, "ImageDescription"}, {0x010f, "Make"}, {0x0110, "Model"}, {0x0131, "Software"}};
  for (const auto& [tag, name] : kTexts) {
    const uint64_t entry = tiff.find(tiff.number(4, 4), tag);
    if (!entry || tiff.number(entry + 2, 2) != kAsciiText) continue;
    std::string_view text = tiff.bytes(entry);
    text = text.substr(0, text.find('\0'));
    if (!text.empty()) texts.emplace_back(name, valid_utf8(text));
  }
  return texts;
}

std::string build_exif(std::string_view user_comment) {
  const std::string comment = std::string(kUnicode) + utf8_to_utf16be(user_comment);
  constexpr uint32_t kDirectory = 2 + 12 + 4, kFirst = 8, kSecond = kFirst + kDirectory, kData = kSecond + kDirectory;
  std::string data("MM\0*"sv);
  put(data, kFirst, 4);
  put_directory(data, kExifIfd, kLong, 1, kSecond);
  put_directory(data, kUserComment, kUndefined, static_cast<uint32_t>(comment.size()), kData);
  return data + comment;
}

}  // namespace gesso
