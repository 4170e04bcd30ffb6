#include "benchmark/pattern_file.h"

#include <zlib.h>

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "weights/pattern_weight.h"

namespace gesso {
namespace {

std::string gunzip(std::span<const std::byte> bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) fail(ErrorCode::kInternal, "zlib does not start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  char buffer[1 << 16];
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(buffer, sizeof buffer - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) fail(ErrorCode::kInternal, "an embedded manifest is damaged");
  return text;
}

}  // namespace

PatternFile::PatternFile(std::string name, std::span<const std::byte> manifest) : path_(std::move(name)) {
  const std::optional<Json> json = parse_json(gunzip(manifest));
  if (!json || !json->contains("tensors")) fail(ErrorCode::kInternal, "an embedded manifest lists no tensors");
  int64_t most = 0;
  for (const auto& [tensor, extents] : (*json)["tensors"].items()) {
    const auto dims = extents.get<std::vector<int64_t>>();
    const Shape shape{std::span<const int64_t>(dims)};
    most = std::max(most, shape.elements());
    tensors_.push_back({tensor, DType::kF16, shape, 0, static_cast<uint64_t>(shape.elements()) * sizeof(uint16_t)});
  }
  if (json->contains("metadata")) metadata_ = (*json)["metadata"].get<std::map<std::string, std::string>>();
  values_.resize(static_cast<size_t>(most));
  for (size_t i = 0; i < values_.size(); ++i) values_[i] = f32_to_f16(pattern(static_cast<int64_t>(i), 0.03f));
}

std::span<const std::byte> PatternFile::read(const TensorInfo& tensor) const {
  return std::as_bytes(std::span(values_)).first(tensor.bytes);
}

}  // namespace gesso
