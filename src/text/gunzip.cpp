#include "text/gunzip.h"

#include "base/error.h"

namespace gesso {

Gunzip::Gunzip(std::span<const std::byte> bytes, std::string what) : what_(std::move(what)) {
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream_.avail_in = static_cast<uInt>(bytes.size());
  if (inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) fail(ErrorCode::kInternal, "cannot start zlib");
}

void Gunzip::append_block(std::string& text) {
  constexpr size_t kBlock = size_t{1} << 17;
  const size_t before = text.size();
  text.resize(before + kBlock);
  stream_.next_out = reinterpret_cast<Bytef*>(text.data() + before);
  stream_.avail_out = kBlock;
  const int status = inflate(&stream_, Z_NO_FLUSH);
  text.resize(text.size() - stream_.avail_out);
  done_ = status == Z_STREAM_END;
  if ((status != Z_OK && !done_) || text.size() == before) fail(ErrorCode::kInternal, "the {} is damaged", what_);
}

std::string gunzip(std::span<const std::byte> bytes, const std::string& what) {
  Gunzip file(bytes, what);
  std::string text;
  while (!file.done()) file.append_block(text);
  return text;
}

}  // namespace gesso
