#include "io/safetensors.h"

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
    parse(text);
    check_tensor_layout(header_.tensors, header_.data_begin, file.size(), path_);
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
    if (const auto dtype = dtype_from_string(entry.dtype); dtype && !is_block(*dtype)) {
      info.dtype = *dtype;
      check_tensor_size(info, path_);
    } else if (!unknown_type_) {
      unknown_type_.emplace(header_.tensors.size(), std::move(entry.dtype));
    }
    header_.tensors.push_back(std::move(info));
  }

  const std::filesystem::path& path_;
  SafetensorsHeader header_;
  std::optional<std::pair<size_t, std::string>> unknown_type_;
};

}  // namespace

SafetensorsHeader parse_safetensors(std::span<const std::byte> file, const std::filesystem::path& path) {
  return HeaderBuilder(file, path).take();
}

std::shared_ptr<const TensorFile> open_safetensors(std::shared_ptr<const MappedFile> file) {
  SafetensorsHeader header = parse_safetensors(file->bytes(), file->path());
  return make_tensor_file(std::move(file), "safetensors", std::move(header));
}

}  // namespace gesso
