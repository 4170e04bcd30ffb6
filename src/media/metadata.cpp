#include "media/metadata.h"

#include "base/error.h"
#include "media/codec.h"
#include "media/containers.h"
#include "media/exif.h"
#include "media/unicode.h"

namespace gesso {

std::string with_picture_info(std::string picture, const PictureInfo& info) {
  const auto format = sniff_picture(picture);
  if (!format) fail(ErrorCode::kUnsupported, "only PNG, JPEG and WebP pictures can carry their parameters");
  if (info == PictureInfo{}) return picture;
  const PictureInfo valid{valid_utf8(info.parameters), valid_utf8(info.request_json)};
  switch (*format) {
    case PictureFormat::kPng:
      return with_png_info(picture, valid);
    case PictureFormat::kJpeg:
      return with_jpeg_info(picture, valid);
    case PictureFormat::kWebp:
      return with_webp_info(picture, valid);
  }
  return picture;
}

PictureInfo read_picture_info(std::string_view picture) {
  const auto format = sniff_picture(picture);
  if (!format) return {};
  switch (*format) {
    case PictureFormat::kPng:
      return read_png_info(picture);
    case PictureFormat::kJpeg:
      return read_jpeg_info(picture);
    case PictureFormat::kWebp:
      return read_webp_info(picture);
  }
  return {};
}

std::vector<PictureText> read_picture_texts(std::string_view picture) {
  TextRoom room;
  const auto format = sniff_picture(picture);
  std::string_view exif;
  if (format == PictureFormat::kPng) {
    add_png_texts(picture, room);
    exif = png_exif(picture);
  } else if (format == PictureFormat::kJpeg) {
    add_jpeg_texts(picture, room);
    exif = jpeg_exif(picture);
  } else if (format == PictureFormat::kWebp) {
    room.add("gesso", read_webp_info(picture).request_json);
    exif = webp_exif(picture);
  }
  for (auto& [key, text] : exif_texts(exif)) room.add(key, std::move(text));
  return room.take();
}

int picture_orientation(std::string_view picture) {
  const auto format = sniff_picture(picture);
  if (!format) return 1;
  switch (*format) {
    case PictureFormat::kPng:
      return parse_exif(png_exif(picture)).orientation;
    case PictureFormat::kJpeg:
      return parse_exif(jpeg_exif(picture)).orientation;
    case PictureFormat::kWebp:
      return parse_exif(webp_exif(picture)).orientation;
  }
  return 1;
}

}  // namespace gesso
