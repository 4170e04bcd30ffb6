#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "media/codec.h"

namespace gesso {

/// The format that a name's extension (.png .jpg .jpeg .webp, in any case) asks for. Throws kUsage naming the
/// supported ones.
PictureFormat picture_format(const std::filesystem::path& name);

/// `stem` + `suffix`, with the end of the stem cut away on a character border where the two exceed 255 bytes, the most
/// that file systems take. Throws kUsage when nothing of the stem would be left.
std::string fitted_file_name(std::string_view stem, std::string_view suffix);
/// A file's stem made of any text, a prompt say: what file systems or shells trip over becomes `_`. Never empty.
std::string stem_from_text(std::string_view text);

/// Puts a finished picture at `path`, replacing what is there; no half-written file is ever visible. Returns the path,
/// with its name cut as fitted_file_name does. Throws kIo.
std::filesystem::path write_image(const std::filesystem::path& path, std::string_view bytes);

/// Where the pictures of one request go.
///
/// - One picture and a plain name: exactly that path; an existing file is replaced, since the user named it.
/// - Several pictures: `out.png` becomes out_0001.png, out_0002.png ...
/// - A name with a number field as in printf, `%d` or `%04d`: the number is written there, counting from 0; `%%` then
///   stands for one `%`. Any other `%` is literal.
///
/// Numbered names never replace a file: taken numbers are skipped, also when another process takes one meanwhile.
class OutputNames {
 public:
  /// `first`: the number to begin with instead (0 or more). Throws kUsage for a name without a supported extension.
  OutputNames(std::filesystem::path name, int count, std::optional<int64_t> first = std::nullopt);

  PictureFormat format() const { return format_; }
  /// Writes the next picture and returns its path. Throws kIo.
  std::filesystem::path write(std::string_view bytes);

 private:
  std::filesystem::path numbered(int64_t number) const;

  std::filesystem::path name_;
  PictureFormat format_;
  std::string before_, after_;  ///< the file name around the number, extension included
  int width_ = 0;               ///< of the number
  bool zeros_ = false;          ///< fill with zeros rather than blanks
  bool plain_ = false;          ///< no number
  int64_t next_ = 0;
};

}  // namespace gesso
