#pragma once
#include <string>
#include <string_view>

#include "media/metadata.h"

/// How each format carries PictureInfo; metadata.h dispatches to these. Reading tolerates any bytes; writing throws
/// kBadFile for a damaged picture. Texts must be valid UTF-8.
namespace gesso {

PictureInfo read_png_info(std::string_view png);
std::string with_png_info(std::string_view png, const PictureInfo& info);
/// The EXIF data (eXIf chunk, APP1 segment, EXIF chunk) in its stored form, or nothing.
std::string_view png_exif(std::string_view png);

PictureInfo read_jpeg_info(std::string_view jpeg);
std::string with_jpeg_info(std::string_view jpeg, const PictureInfo& info);
std::string_view jpeg_exif(std::string_view jpeg);

PictureInfo read_webp_info(std::string_view webp);
std::string with_webp_info(std::string_view webp, const PictureInfo& info);
std::string_view webp_exif(std::string_view webp);

}  // namespace gesso
