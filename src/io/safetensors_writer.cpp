#include "io/safetensors_writer.h"

#include <set>
#include <string_view>

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

/// Fills in offset and bytes of each; returns the total.
uint64_t lay_out(std::vector<TensorInfo>& tensors) {
  std::set<std::string_view> names;
  int64_t total = 0;
  for (TensorInfo& t : tensors) {
    if (t.name == "__metadata__" || !names.insert(t.name).second)
      fail(ErrorCode::kUsage, "the tensor name {} cannot be written: it is {}", printable(t.name),
           t.name == "__metadata__" ? "reserved" : "there twice");
    const auto elements = checked_elements(std::span(t.shape.begin(), t.shape.end()));
    int64_t bytes = 0;
    t.offset = static_cast<uint64_t>(total);
    if (!elements || __builtin_mul_overflow(*elements, size_of(t.dtype), &bytes) ||
        __builtin_add_overflow(total, bytes, &total))
      fail(ErrorCode::kUsage, "tensor {} {} is too large to be written", printable(t.name), to_string(t.shape));
    t.bytes = static_cast<uint64_t>(bytes);
  }
  return static_cast<uint64_t>(total);
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
    : file_(target), tensors_(std::move(tensors)), left_(lay_out(tensors_)) {
  const std::string header = header_json(tensors_, metadata);
  if (header.size() > kMaxSafetensorsHeader)
    fail(ErrorCode::kUsage, "{}: the header would be {} bytes, more than the {} that can be read back", quoted(target),
         header.size(), kMaxSafetensorsHeader);
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> (8 * i));
  file_.write(length);
  file_.write(header);
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  if (bytes.size() > left_)
    fail(ErrorCode::kInternal, "{}: {} bytes too many for the announced shapes", quoted(file_.target()),
         bytes.size() - left_);
  file_.write(bytes);
  left_ -= bytes.size();
}

void SafetensorsWriter::finish() {
  if (left_ != 0)
    fail(ErrorCode::kInternal, "{}: {} bytes of the announced tensors are missing", quoted(file_.target()), left_);
  file_.commit();
}

}  // namespace gesso
