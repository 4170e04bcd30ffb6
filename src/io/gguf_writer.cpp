#include "io/gguf_writer.h"

#include <algorithm>

#include "base/error.h"
#include "io/gguf.h"
#include "io/printable.h"
#include "tensor/quant/block_type.h"

namespace gesso {
namespace {

/// The layout of quantised blocks, as ggml counts them since 2023.
constexpr uint32_t kQuantisationVersion = 2;

template <typename T>
void append(std::string& text, T value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_text(std::string& text, std::string_view value) {
  append<uint64_t>(text, value.size());
  text += value;
}

void append_type(std::string& text, GgufType type) {
  append(text, static_cast<uint32_t>(type));
}

void append_value(std::string& text, const GgufMetadata::mapped_type& value) {
  if (const auto* number = std::get_if<uint32_t>(&value)) {
    append_type(text, GgufType::kU32);
    append(text, *number);
  } else if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    append_type(text, GgufType::kArray);
    append_type(text, GgufType::kString);
    append<uint64_t>(text, list->size());
    for (const std::string& element : *list) append_text(text, element);
  } else {
    append_type(text, GgufType::kString);
    append_text(text, std::get<std::string>(value));
  }
}

std::string gguf_header(const std::vector<TensorInfo>& tensors, GgufMetadata metadata) {
  metadata.erase("general.alignment");
  metadata.erase("general.quantization_version");
  const bool quantised = std::ranges::any_of(tensors, [](const TensorInfo& t) { return is_block(t.dtype); });
  std::string text = "GGUF";
  append<uint32_t>(text, 3);
  append<uint64_t>(text, tensors.size());
  append<uint64_t>(text, metadata.size() + (quantised ? 1 : 0));
  if (quantised) {
    append_text(text, "general.quantization_version");
    append_type(text, GgufType::kU32);
    append(text, kQuantisationVersion);
  }
  for (const auto& [key, value] : metadata) {
    append_text(text, key);
    append_value(text, value);
  }
  for (const TensorInfo& t : tensors) {
    const auto type = ggml_type_of(t.dtype);
    if (!type)
      fail(ErrorCode::kUsage, "tensor {} is {}, which GGUF files cannot hold", printable(t.name), to_string(t.dtype));
    if (t.shape.rank() > 0 && t.shape[-1] % block_elements(t.dtype) != 0)
      fail(ErrorCode::kUsage, "rows of tensor {} {} are no whole number of blocks of {}", printable(t.name),
           to_string(t.shape), to_string(t.dtype));
    append_text(text, t.name);
    append(text, static_cast<uint32_t>(t.shape.rank()));
    for (int axis = t.shape.rank() - 1; axis >= 0; --axis) append<uint64_t>(text, static_cast<uint64_t>(t.shape[axis]));
    append(text, *type);
    append<uint64_t>(text, t.offset);
  }
  text.append((kGgufAlignment - text.size() % kGgufAlignment) % kGgufAlignment, '\0');
  return text;
}

}  // namespace

GgufWriter::GgufWriter(const std::filesystem::path& target, std::vector<TensorInfo> tensors,
                       const GgufMetadata& metadata)
    : TensorWriter(target, std::move(tensors), kGgufAlignment) {
  begin(gguf_header(this->tensors(), metadata));
}

}  // namespace gesso
