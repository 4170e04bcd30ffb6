#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace gesso {

/// What a picture says of its making. Both are UTF-8; empty means absent.
struct PictureInfo {
  std::string parameters;    ///< the text that AUTOMATIC1111 and its readers know (see media/parameters.h)
  std::string request_json;  ///< the whole request, without loss

  bool operator==(const PictureInfo&) const = default;
};

/// The picture with `info` put in; pixels are untouched. What it held under the same names is replaced, so that doing
/// it twice is doing it once; an empty `info` leaves the picture as it is.
///
/// - PNG: iTXt chunks `parameters` and `gesso`.
/// - JPEG: parameters in the UserComment of an EXIF segment, as piexif writes it (`UNICODE`, UTF-16 big-endian); when
///   that is over 64 KB, in COM segments instead. The request in COM segments, as many as it needs.
/// - WebP: parameters in an EXIF chunk, the request in an XMP chunk.
///
/// Bytes that are not UTF-8 become U+FFFD. Throws kUnsupported for a picture of another format, kBadFile for a damaged
/// one.
std::string with_picture_info(std::string picture, const PictureInfo& info);

/// What the picture says, from where with_picture_info and AUTOMATIC1111 put it (also PNG tEXt and zTXt). Never
/// throws for damaged metadata: what cannot be read is absent. Compressed text beyond 16 MiB counts as damaged.
PictureInfo read_picture_info(std::string_view picture);

/// A text in a picture's metadata, and where it stands: a PNG keyword, "Comment" (JPEG), or an EXIF field's name.
struct PictureText {
  std::string key, text;  ///< UTF-8
  bool operator==(const PictureText&) const = default;
};

/// All texts of a picture, in their order: those of PNG text chunks; comments of JPEG; of EXIF UserComment,
/// ImageDescription, Make, Model and Software. Never throws; at most 200 texts, and 32 MiB of them in all.
std::vector<PictureText> read_picture_texts(std::string_view picture);

/// EXIF orientation, 1 to 8; 1 when the picture says nothing.
int picture_orientation(std::string_view picture);

}  // namespace gesso
