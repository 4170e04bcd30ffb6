#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gesso {

/// The two fields of EXIF that matter here.
struct Exif {
  int orientation = 1;       ///< 1 to 8
  std::string user_comment;  ///< UTF-8
};

/// Reads EXIF data: a TIFF structure, with or without `Exif\0\0` before it. Never throws: what cannot be read keeps
/// its default. Follows EXIF 2.3.
Exif parse_exif(std::string_view data);

/// The texts in it under their EXIF names: UserComment, ImageDescription, Make, Model, Software. As parse_exif.
std::vector<std::pair<std::string, std::string>> exif_texts(std::string_view data);

/// A TIFF structure (big-endian, without `Exif\0\0`) whose UserComment is the text, as piexif writes it.
std::string build_exif(std::string_view user_comment);

}  // namespace gesso
