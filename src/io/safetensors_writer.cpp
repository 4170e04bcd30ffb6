#include "io/safetensors_writer.h"

#include "base/error.h"
#include "base/json.h"
#include "base/unicode.h"
#include "io/printable.h"
#include "io/safetensors.h"

namespace gesso {
namespace {

/// `text` as a JSON string.
std::string json_name(const std::string& text) {
  if (valid_utf8(text) != text)
    fail(ErrorCode::kUsage, "{} is not valid UTF-8 and cannot be written to a safetensors file", printable(text));
  return json_string(text);
}

void check_names_and_types(const std::vector<TensorInfo>& tensors) {
  for (const TensorInfo& t : tensors) {
    if (t.name == "__metadata__")
      fail(ErrorCode::kUsage, "the tensor name {} cannot be written: it is reserved", printable(t.name));
    if (is_block(t.dtype))
      fail(ErrorCode::kUsage, "tensor {} is {}, which safetensors files cannot hold; write a GGUF file",
           printable(t.name), to_string(t.dtype));
  }
}

std::string header_json(const std::vector<TensorInfo>& tensors, const std::map<std::string, std::string>& metadata) {
  std::string text = "{";
  if (!metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata)
      text += (text.back() == '{' ? "" : ",") + json_name(key) + ":" + json_name(value);
    text += "}";
  }
  for (const TensorInfo& t : tensors) {
    text += (text.size() == 1 ? "" : ",") + json_name(t.name);
    text += fmt::format(R"(:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", to_string(t.dtype),
                        to_string(t.shape), t.offset, t.offset + t.bytes);
  }
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& target, std::vector<TensorInfo> tensors,
                                     const std::map<std::string, std::string>& metadata)
    : TensorWriter(target, std::move(tensors), 1) {
  check_names_and_types(this->tensors());
  const std::string header = header_json(this->tensors(), metadata);
  if (header.size() > kMaxSafetensorsHeader)
    fail(ErrorCode::kUsage, "{}: the header would be {} bytes, more than the {} that can be read back", quoted(target),
         header.size(), kMaxSafetensorsHeader);
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> (8 * i));
  begin(length + header);
}

}  // namespace gesso
