#pragma once
#include <string>
#include <string_view>

#include "media/metadata.h"

/// How each format carries PictureInfo; metadata.h dispatches to these. Reading tolerates any bytes; writing throws
/// kBadFile for a damaged picture. Texts must be valid UTF-8.
namespace gesso {

/// Texts as they are found, up to what is worth keeping.
class TextRoom {
 public:
  static constexpr size_t kMostTexts = 200, kMostBytes = size_t{32} << 20;
  bool full() const { return texts_.size() >= kMostTexts || bytes_ >= kMostBytes; }
  void add(std::string_view key, std::string text) {
    bytes_ += text.size();
    if (!text.empty() && texts_.size() < kMostTexts && bytes_ <= kMostBytes)
      texts_.push_back({std::string(key), std::move(text)});
  }
  std::vector<PictureText> take() { return std::move(texts_); }

 private:
  std::vector<PictureText> texts_;
  size_t bytes_ = 0;
};

PictureInfo read_png_info(std::string_view png);
std::string with_png_info(std::string_view png, const PictureInfo& info);
/// Adds the texts that are not EXIF's, while there is room.
void add_png_texts(std::string_view png, TextRoom& room);
void add_jpeg_texts(std::string_view jpeg, TextRoom& room);
/// The EXIF data (eXIf chunk, APP1 segment, EXIF chunk) in its stored form, or nothing.
std::string_view png_exif(std::string_view png);

PictureInfo read_jpeg_info(std::string_view jpeg);
std::string with_jpeg_info(std::string_view jpeg, const PictureInfo& info);
std::string_view jpeg_exif(std::string_view jpeg);

PictureInfo read_webp_info(std::string_view webp);
std::string with_webp_info(std::string_view webp, const PictureInfo& info);
std::string_view webp_exif(std::string_view webp);

}  // namespace gesso
