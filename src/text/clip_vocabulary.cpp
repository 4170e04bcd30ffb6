#include "text/clip_vocabulary.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "base/error.h"

namespace gesso {

std::span<const std::byte> embedded_clip_vocabulary();  // defined by gesso_embed(), see CMakeLists.txt

namespace {

constexpr size_t kRules = 48894;  // the file goes on: CLIP was trained with this many

// A gzip stream read in blocks: the file is six times as long as the part that is needed.
class Gunzip {
 public:
  explicit Gunzip(std::span<const std::byte> bytes) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    if (inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) fail(ErrorCode::kInternal, "cannot start zlib");
  }
  ~Gunzip() { inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  void append_block(std::string& text) {
    constexpr size_t kBlock = size_t{1} << 17;
    const size_t before = text.size();
    text.resize(before + kBlock);
    stream_.next_out = reinterpret_cast<Bytef*>(text.data() + before);
    stream_.avail_out = kBlock;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    text.resize(text.size() - stream_.avail_out);
    if ((status != Z_OK && status != Z_STREAM_END) || text.size() == before)
      fail(ErrorCode::kInternal, "the built-in CLIP vocabulary is damaged");
  }

 private:
  z_stream stream_{};
};

}  // namespace

std::string clip_merge_rules() {
  Gunzip file(embedded_clip_vocabulary());
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
