#include "io/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "io/printable.h"
#include "io/safetensors_json.h"

namespace gesso {
namespace {

[[noreturn]] void fail_truncated(const std::filesystem::path& path, uint64_t needs, uint64_t has) {
  fail(ErrorCode::kBadFile, "{} is truncated: needs {} bytes, has {}; download or copy it again", quoted(path), needs,
       has);
}

/// The bytes of JSON, checked against the file's size.
std::span<const std::byte> header_text(std::span<const std::byte> file, const std::filesystem::path& path) {
  if (file.size() < 8) fail_truncated(path, 8, file.size());
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) length |= std::to_integer<uint64_t>(file[i]) << (8 * i);
  if (length > kMaxSafetensorsHeader)
    fail(ErrorCode::kBadFile, "{} is not a safetensors file: its header would be {} bytes (at most {} are read)",
         quoted(path), length, kMaxSafetensorsHeader);
  if (length > file.size() - 8) fail_truncated(path, 8 + length, file.size());
  return file.subspan(8, length);
}

/// Collects entries and validates them together once the header has been read.
class HeaderBuilder {
 public:
  HeaderBuilder(std::span<const std::byte> file, const std::filesystem::path& path) : path_(path) {
    const auto text = header_text(file, path);
    header_.data_begin = 8 + text.size();
    data_size_ = file.size() - header_.data_begin;
    parse(text);
    check_names();
    check_spans();
    check_overlap();
    if (unknown_type_) {
      const auto& [index, type] = *unknown_type_;
      fail(ErrorCode::kUnsupported, "{}: tensor {} has the unknown type {}", quoted(path_),
           printable(header_.tensors[index].name), printable(type));
    }
  }

  SafetensorsHeader take() { return std::move(header_); }

 private:
  void parse(std::span<const std::byte> text) {
    SafetensorsJson json([](void* self, SafetensorsEntry&& e) { static_cast<HeaderBuilder*>(self)->add(std::move(e)); },
                         this);
    const auto* begin = reinterpret_cast<const char*>(text.data());
    if (!Json::sax_parse(begin, begin + text.size(), &json))
      fail(json.unsupported() ? ErrorCode::kUnsupported : ErrorCode::kBadFile, "{}: {}", quoted(path_), json.error());
    header_.metadata = std::move(json.metadata());
  }

  void add(SafetensorsEntry&& entry) {
    const std::span<const int64_t> dims(entry.dims.data(), static_cast<size_t>(entry.rank));
    if (entry.begin > entry.end)
      fail(ErrorCode::kBadFile, "{}: tensor {} begins at {} but ends at {}", quoted(path_), printable(entry.name),
           entry.begin, entry.end);
    TensorInfo info{std::move(entry.name), DType::kU8, Shape(dims), entry.begin, entry.end - entry.begin};
    if (const auto dtype = dtype_from_string(entry.dtype)) {
      info.dtype = *dtype;
      check_size(info);
    } else if (!unknown_type_) {
      unknown_type_.emplace(header_.tensors.size(), std::move(entry.dtype));
    }
    header_.tensors.push_back(std::move(info));
  }

  void check_size(const TensorInfo& t) const {
    std::array<int64_t, Shape::kMaxRank> dims{};
    std::copy(t.shape.begin(), t.shape.end(), dims.begin());
    const std::span extents(dims.data(), static_cast<size_t>(t.shape.rank()));
    const auto elements = checked_elements(extents);
    // The extents besides a zero must not overflow either: who multiplies them later does not check again.
    std::replace(extents.begin(), extents.end(), int64_t{0}, int64_t{1});
    int64_t bytes = 0;
    if (!elements || !checked_elements(extents) || __builtin_mul_overflow(*elements, size_of(t.dtype), &bytes) ||
        static_cast<uint64_t>(bytes) != t.bytes)
      fail(ErrorCode::kBadFile, "{}: tensor {} is {} of {} but has {} bytes", quoted(path_), printable(t.name),
           to_string(t.shape), to_string(t.dtype), t.bytes);
  }

  void check_names() const {
    auto order = indices();
    const auto name = [this](uint32_t i) -> const std::string& { return header_.tensors[i].name; };
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return name(a) < name(b); });
    const auto twice =
        std::adjacent_find(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return name(a) == name(b); });
    if (twice != order.end())
      fail(ErrorCode::kBadFile, "{}: the header has tensor {} twice", quoted(path_), printable(name(*twice)));
  }

  /// Spans agree with their shapes here, so one beyond the end means that bytes are missing, unless it is absurd.
  void check_spans() const {
    const TensorInfo* last = nullptr;
    for (const TensorInfo& t : header_.tensors)
      if (!last || t.offset + t.bytes > last->offset + last->bytes) last = &t;
    if (!last || last->offset + last->bytes <= data_size_) return;
    uint64_t needs = 0;
    if (__builtin_add_overflow(header_.data_begin, last->offset + last->bytes, &needs))
      fail(ErrorCode::kBadFile, "{}: tensor {} ends at {}, far outside the file", quoted(path_), printable(last->name),
           last->offset + last->bytes);
    fail(ErrorCode::kBadFile,
         "{} is truncated: needs {} bytes, has {} (tensor {} is beyond the end); download or copy it again",
         quoted(path_), needs, header_.data_begin + data_size_, printable(last->name));
  }

  void check_overlap() const {
    auto order = indices();
    std::erase_if(order, [this](uint32_t i) { return header_.tensors[i].bytes == 0; });
    const auto begin = [this](uint32_t i) { return header_.tensors[i].offset; };
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return begin(a) < begin(b); });
    for (size_t i = 1; i < order.size(); ++i) {
      const TensorInfo &before = header_.tensors[order[i - 1]], &after = header_.tensors[order[i]];
      if (before.offset + before.bytes > after.offset)
        fail(ErrorCode::kBadFile, "{}: tensors {} and {} overlap", quoted(path_), printable(before.name),
             printable(after.name));
    }
  }

  std::vector<uint32_t> indices() const {
    std::vector<uint32_t> order(header_.tensors.size());
    std::iota(order.begin(), order.end(), 0u);
    return order;
  }

  const std::filesystem::path& path_;
  SafetensorsHeader header_;
  uint64_t data_size_ = 0;
  std::optional<std::pair<size_t, std::string>> unknown_type_;
};

class SafetensorsFile final : public TensorFile {
 public:
  explicit SafetensorsFile(std::shared_ptr<const MappedFile> file)
      : file_(std::move(file)), header_(parse_safetensors(file_->bytes(), file_->path())) {}

  const std::filesystem::path& path() const override { return file_->path(); }
  std::string_view format() const override { return "safetensors"; }
  const std::vector<TensorInfo>& tensors() const override { return header_.tensors; }
  const std::map<std::string, std::string>& metadata() const override { return header_.metadata; }
  void done(const TensorInfo& tensor) const override { file_->forget(read(tensor)); }
  std::span<const std::byte> read(const TensorInfo& tensor) const override {
    const auto data = file_->bytes().subspan(header_.data_begin);
    if (tensor.offset > data.size() || tensor.bytes > data.size() - tensor.offset)
      fail(ErrorCode::kInternal, "tensor {} is not one of {}", printable(tensor.name), quoted(path()));
    return data.subspan(tensor.offset, tensor.bytes);
  }

 private:
  std::shared_ptr<const MappedFile> file_;
  SafetensorsHeader header_;
};

}  // namespace

SafetensorsHeader parse_safetensors(std::span<const std::byte> file, const std::filesystem::path& path) {
  return HeaderBuilder(file, path).take();
}

std::shared_ptr<const TensorFile> open_safetensors(std::shared_ptr<const MappedFile> file) {
  return std::make_shared<SafetensorsFile>(std::move(file));
}

}  // namespace gesso
