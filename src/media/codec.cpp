#include "media/codec.h"

#include "base/error.h"
#include "base/files.h"
#include "media/codecs.h"

namespace gesso {
namespace {

using namespace std::string_view_literals;

constexpr size_t kMaxPictureBytes = size_t{512} << 20;

/// What else people name as a picture, so that the message can say so.
std::string_view known_but_unsupported(std::string_view b) {
  if (b.starts_with("GIF8")) return "a GIF";
  if (b.starts_with("BM") && b.size() > 14 && b.substr(6, 4) == "\0\0\0\0"sv) return "a BMP";
  if (b.starts_with("II*\0"sv) || b.starts_with("MM\0*"sv)) return "a TIFF";
  if (b.starts_with("8BPS")) return "a Photoshop file";
  if (b.starts_with("\xff\x0a"sv) || b.starts_with("\0\0\0\x0cJXL "sv)) return "a JPEG XL";
  if (b.starts_with("\0\0\0\x0cjP  "sv)) return "a JPEG 2000";
  if (b.size() > 12 && b.substr(4, 4) == "ftyp")
    return b.substr(8, 4) == "avif" ? "an AVIF" : "a HEIC picture or video";
  if (b.starts_with("<svg") || b.starts_with("<?xml")) return "an SVG or XML text";
  if (b.starts_with("#?RADIANCE") || b.starts_with("\x76\x2f\x31\x01")) return "a high dynamic range picture";
  return {};
}

}  // namespace

std::string_view to_string(PictureFormat format) {
  switch (format) {
    case PictureFormat::kPng:
      return "PNG";
    case PictureFormat::kJpeg:
      return "JPEG";
    case PictureFormat::kWebp:
      return "WebP";
  }
  return "";
}

std::optional<PictureFormat> sniff_picture(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return PictureFormat::kPng;
  if (bytes.starts_with("\xff\xd8\xff")) return PictureFormat::kJpeg;
  if (bytes.starts_with("RIFF") && bytes.size() >= 12 && bytes.substr(8, 4) == "WEBP") return PictureFormat::kWebp;
  return std::nullopt;
}

Image decode_image(std::string_view bytes, std::string_view name) {
  const auto format = sniff_picture(bytes);
  if (!format) {
    if (bytes.empty()) fail(ErrorCode::kBadFile, "{} is empty: expected a PNG, JPEG or WebP picture", name);
    const std::string_view kind = known_but_unsupported(bytes);
    if (!kind.empty())
      fail(ErrorCode::kUnsupported, "{} is {}: only PNG, JPEG and WebP are read; convert it first", name, kind);
    fail(ErrorCode::kBadFile, "{} is not a PNG, JPEG or WebP picture", name);
  }
  Image image;
  switch (*format) {
    case PictureFormat::kPng:
      image = decode_png(bytes, name);
      break;
    case PictureFormat::kJpeg:
      image = decode_jpeg(bytes, name);
      break;
    case PictureFormat::kWebp:
      image = decode_webp(bytes, name);
      break;
  }
  return oriented(std::move(image), picture_orientation(bytes));
}

Image load_image(const std::filesystem::path& path) {
  return decode_image(read_file(path, kMaxPictureBytes), quoted(path));
}

std::string encode_image(const Image& image, PictureFormat format, const EncodeOptions& options,
                         const PictureInfo& info) {
  switch (format) {
    case PictureFormat::kPng:
      return with_picture_info(encode_png(image), info);
    case PictureFormat::kJpeg:
      return with_picture_info(encode_jpeg(image, options.quality), info);
    case PictureFormat::kWebp:
      return with_picture_info(encode_webp(image, options.quality, options.lossless), info);
  }
  fail(ErrorCode::kInternal, "no such picture format");
}

}  // namespace gesso
