#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "media/image.h"
#include "media/metadata.h"

namespace gesso {

enum class PictureFormat { kPng, kJpeg, kWebp };
/// "PNG", "JPEG", "WebP"
std::string_view to_string(PictureFormat format);

/// The format that the bytes begin as, if it is one that Gesso reads.
std::optional<PictureFormat> sniff_picture(std::string_view bytes);

/// Decodes a PNG, JPEG or WebP, told apart by content, and turns it upright by its EXIF orientation.
///
/// Gray stays 1 channel; palettes become RGB; any transparency makes it RGBA; 16 bits are rounded to 8; CMYK becomes
/// RGB; an embedded colour profile or gamma is not applied. Of `bytes` nothing of the picture's size is allocated
/// before its size is checked. `name` is for messages. Throws kBadFile for damaged or truncated data and for files
/// that are no picture; kUnsupported beyond the limits and for other picture formats, named.
Image decode_image(std::string_view bytes, std::string_view name);
/// Reads and decodes a file of at most 512 MiB. Throws as read_file and decode_image do.
Image load_image(const std::filesystem::path& path);

/// Encoders. The same image and settings give the same bytes (for one version of the codec libraries). They throw
/// kUsage for a quality outside its range and kUnsupported for a size that the format cannot hold.
std::string encode_png(const Image& image);
/// Baseline, no chroma subsampling (4:4:4); `quality` 1 to 100. Alpha is composited over white: JPEG has none.
std::string encode_jpeg(const Image& image, int quality = 95);
/// `quality` 0 to 100; ignored when `lossless`, which keeps every pixel, also below full transparency.
std::string encode_webp(const Image& image, int quality = 95, bool lossless = false);

struct EncodeOptions {
  int quality = 95;       ///< JPEG and lossy WebP
  bool lossless = false;  ///< WebP
};

/// Encodes and puts `info` in, as with_picture_info does.
std::string encode_image(const Image& image, PictureFormat format, const EncodeOptions& options = {},
                         const PictureInfo& info = {});

}  // namespace gesso
