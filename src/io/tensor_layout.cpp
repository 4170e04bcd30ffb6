#include "io/tensor_layout.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "io/printable.h"

namespace gesso {
namespace {

namespace fs = std::filesystem;

std::vector<uint32_t> indices(std::span<const TensorInfo> tensors) {
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

void check_names(std::span<const TensorInfo> tensors, const fs::path& path) {
  auto order = indices(tensors);
  const auto name = [&](uint32_t i) -> const std::string& { return tensors[i].name; };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return name(a) < name(b); });
  const auto twice =
      std::adjacent_find(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return name(a) == name(b); });
  if (twice != order.end())
    fail(ErrorCode::kBadFile, "{}: the header has tensor {} twice", quoted(path), printable(name(*twice)));
}

/// Spans agree with their shapes here, so one beyond the end means that bytes are missing, unless it is absurd.
void check_spans(std::span<const TensorInfo> tensors, uint64_t data_begin, uint64_t file_size, const fs::path& path) {
  const TensorInfo* last = nullptr;
  uint64_t last_end = 0;
  for (const TensorInfo& t : tensors) {
    uint64_t end = 0;
    if (__builtin_add_overflow(t.offset, t.bytes, &end)) end = UINT64_MAX;
    if (!last || end > last_end) last = &t, last_end = end;
  }
  if (!last || last_end <= (file_size > data_begin ? file_size - data_begin : 0)) return;
  uint64_t needs = 0;
  if (last_end == UINT64_MAX || __builtin_add_overflow(data_begin, last_end, &needs))
    fail(ErrorCode::kBadFile, "{}: tensor {} ends at {}, far outside the file", quoted(path), printable(last->name),
         last_end);
  fail(ErrorCode::kBadFile,
       "{} is truncated: needs {} bytes, has {} (tensor {} is beyond the end); download or copy it again", quoted(path),
       needs, file_size, printable(last->name));
}

void check_overlap(std::span<const TensorInfo> tensors, const fs::path& path) {
  auto order = indices(tensors);
  std::erase_if(order, [&](uint32_t i) { return tensors[i].bytes == 0; });
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return tensors[a].offset < tensors[b].offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const TensorInfo &before = tensors[order[i - 1]], &after = tensors[order[i]];
    if (before.offset + before.bytes > after.offset)
      fail(ErrorCode::kBadFile, "{}: tensors {} and {} overlap", quoted(path), printable(before.name),
           printable(after.name));
  }
}

class MappedTensorFile final : public TensorFile {
 public:
  MappedTensorFile(std::shared_ptr<const MappedFile> file, std::string_view format, TensorFileHeader header)
      : file_(std::move(file)), format_(format), header_(std::move(header)) {}

  const fs::path& path() const override { return file_->path(); }
  std::string_view format() const override { return format_; }
  const std::vector<TensorInfo>& tensors() const override { return header_.tensors; }
  const std::map<std::string, std::string>& metadata() const override { return header_.metadata; }
  void done(const TensorInfo& tensor) const override { file_->forget(read(tensor)); }
  void will_need(const TensorInfo& tensor) const override { file_->will_need(read(tensor)); }
  std::span<const std::byte> read(const TensorInfo& tensor) const override {
    if (tensor.bytes == 0) return {};
    const auto data = file_->bytes().subspan(header_.data_begin);
    if (tensor.offset > data.size() || tensor.bytes > data.size() - tensor.offset)
      fail(ErrorCode::kInternal, "tensor {} is not one of {}", printable(tensor.name), quoted(path()));
    return data.subspan(tensor.offset, tensor.bytes);
  }

 private:
  std::shared_ptr<const MappedFile> file_;
  std::string_view format_;
  TensorFileHeader header_;
};

}  // namespace

std::shared_ptr<const TensorFile> make_tensor_file(std::shared_ptr<const MappedFile> file, std::string_view format,
                                                   TensorFileHeader header) {
  return std::make_shared<MappedTensorFile>(std::move(file), format, std::move(header));
}

void check_tensor_size(const TensorInfo& t, const fs::path& path) {
  std::array<int64_t, Shape::kMaxRank> dims{};
  std::copy(t.shape.begin(), t.shape.end(), dims.begin());
  const std::span extents(dims.data(), static_cast<size_t>(t.shape.rank()));
  const auto elements = checked_elements(extents);
  std::replace(extents.begin(), extents.end(), int64_t{0}, int64_t{1});
  const auto bytes = elements && checked_elements(extents) ? byte_size(t.dtype, *elements) : std::nullopt;
  if (!bytes || static_cast<uint64_t>(*bytes) != t.bytes)
    fail(ErrorCode::kBadFile, "{}: tensor {} is {} of {} but has {} bytes", quoted(path), printable(t.name),
         to_string(t.shape), to_string(t.dtype), t.bytes);
}

void check_tensor_layout(std::span<const TensorInfo> tensors, uint64_t data_begin, uint64_t file_size,
                         const fs::path& path) {
  check_names(tensors, path);
  check_spans(tensors, data_begin, file_size, path);
  check_overlap(tensors, path);
}

}  // namespace gesso
