#pragma once
#include <string_view>

#include "media/image.h"

/// One decoder a format, for decode_image only: pixels as stored, before the EXIF orientation. See decode_image for
/// what they promise.
namespace gesso {

Image decode_png(std::string_view bytes, std::string_view name);
Image decode_jpeg(std::string_view bytes, std::string_view name);
Image decode_webp(std::string_view bytes, std::string_view name);

}  // namespace gesso
