#pragma once
#include <zlib.h>

#include <cstddef>
#include <span>
#include <string>

namespace gesso {

/// Unpacks a gzip file that is built in, block by block. `what` names it should it turn out to be damaged, which is
/// kInternal.
class Gunzip {
 public:
  Gunzip(std::span<const std::byte> bytes, std::string what);
  ~Gunzip() { inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  /// Appends the next 128 KiB (fewer at the end). Asking beyond the end is an error.
  void append_block(std::string& text);
  bool done() const { return done_; }

 private:
  z_stream stream_{};
  std::string what_;
  bool done_ = false;
};

/// All of it.
std::string gunzip(std::span<const std::byte> bytes, const std::string& what);

}  // namespace gesso
