#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "media/image.h"

namespace gesso {

/// Extents of a character of labels, in pixels, at scale 1.
inline constexpr int kLabelWidth = 8, kLabelHeight = 13;

/// A text in lines of at most `columns` characters, cut at blanks where there are some; what does not fit into `rows`
/// lines is left out, and the last line then ends in "...".
std::vector<std::string> label_lines(std::string_view text, int columns, int rows);

/// Writes a line of UTF-8 into an RGB or gray picture, black, its upper left corner at (x, y). What is outside of the
/// picture is left out. Latin, Greek and Cyrillic are drawn; any other character is U+FFFD's sign.
void draw_label(Image& image, int x, int y, std::string_view line, int scale);

}  // namespace gesso
