#include "media/label.h"

#include <algorithm>
#include <map>
#include <span>

#include "base/unicode.h"

namespace gesso {

std::span<const std::byte> embedded_label_font();

namespace {

constexpr size_t kCodeBytes = 4, kGlyphBytes = kCodeBytes + kLabelHeight;

/// The rows of a character, from the top; the leftmost pixel is the highest bit.
std::span<const std::byte> glyph_of(char32_t c) {
  static const std::map<char32_t, std::span<const std::byte>> glyphs = [] {
    std::map<char32_t, std::span<const std::byte>> result;
    for (auto rest = embedded_label_font(); rest.size() >= kGlyphBytes; rest = rest.subspan(kGlyphBytes)) {
      char32_t code = 0;
      for (size_t i = 0; i < kCodeBytes; ++i) code |= static_cast<char32_t>(rest[i]) << (8 * i);
      result.emplace(code, rest.subspan(kCodeBytes, kLabelHeight));
    }
    return result;
  }();
  const auto found = glyphs.find(c);
  return found != glyphs.end() ? found->second : glyphs.at(0xFFFD);
}

void fill(Image& image, int x, int y, int size) {
  for (int row = std::max(y, 0); row < std::min(y + size, image.height); ++row)
    for (int column = std::max(x, 0); column < std::min(x + size, image.width); ++column)
      for (int c = 0; c < image.channels; ++c)
        image.pixels[(static_cast<size_t>(row) * static_cast<size_t>(image.width) + static_cast<size_t>(column)) *
                         static_cast<size_t>(image.channels) +
                     static_cast<size_t>(c)] = 0;
}

}  // namespace

std::vector<std::string> label_lines(std::string_view text, int columns, int rows) {
  std::u32string rest = decode_utf8(text);
  std::replace_if(rest.begin(), rest.end(), is_space, U' ');
  std::vector<std::string> lines;
  const auto width = static_cast<size_t>(std::max(columns, 4));
  while (!rest.empty() && lines.size() < static_cast<size_t>(rows)) {
    const bool last = lines.size() + 1 == static_cast<size_t>(rows);
    if (rest.size() <= width) {
      lines.push_back(encode_utf8(rest));
      break;
    }
    if (last) {
      lines.push_back(encode_utf8(rest.substr(0, width - 3)) + "...");
      break;
    }
    const size_t blank = rest.rfind(U' ', width);
    const size_t end = blank == rest.npos || blank == 0 ? width : blank;
    lines.push_back(encode_utf8(rest.substr(0, end)));
    rest.erase(0, blank == end ? end + 1 : end);
  }
  return lines;
}

void draw_label(Image& image, int x, int y, std::string_view line, int scale) {
  for (const char32_t c : decode_utf8(line)) {
    const auto rows = glyph_of(c);
    for (int row = 0; row < kLabelHeight; ++row)
      for (int column = 0; column < kLabelWidth; ++column)
        if (static_cast<unsigned>(rows[static_cast<size_t>(row)]) >> (kLabelWidth - 1 - column) & 1)
          fill(image, x + column * scale, y + row * scale, scale);
    x += kLabelWidth * scale;
    if (x >= image.width) return;
  }
}

}  // namespace gesso
