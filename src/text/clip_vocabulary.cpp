#include "text/clip_vocabulary.h"

#include <cstddef>
#include <span>

#include "text/gunzip.h"

namespace gesso {

std::span<const std::byte> embedded_clip_vocabulary();  // defined by gesso_embed(), see CMakeLists.txt

namespace {

constexpr size_t kRules = 48894;  // the file goes on: CLIP was trained with this many

}  // namespace

std::string clip_merge_rules() {
  // The file is six times as long as the part that is needed.
  Gunzip file(embedded_clip_vocabulary(), "built-in CLIP vocabulary");
  std::string text;
  size_t lines = 0, scanned = 0, end = 0, begin = 0;
  while (lines < kRules + 1) {  // the first line is a title
    if (scanned == text.size()) file.append_block(text);
    end = text.find('\n', scanned);
    scanned = end == std::string::npos ? text.size() : end + 1;
    if (end != std::string::npos && ++lines == 1) begin = scanned;
  }
  return text.substr(begin, scanned - begin);
}

}  // namespace gesso
