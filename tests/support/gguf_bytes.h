#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gesso::testing {

/// The bytes of a little-endian number.
template <typename T>
std::string le(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// A text as GGUF has it: its length, then itself.
inline std::string gguf_text(std::string_view text) {
  return le<uint64_t>(text.size()).append(text);
}

/// Puts together a GGUF file, right or wrong, piece by piece.
struct GgufBytes {
  uint32_t version = 3;
  std::vector<std::string> keys, tensors;

  /// `value` are the bytes after the type.
  GgufBytes& key(std::string_view name, uint32_t type, std::string_view value) {
    keys.push_back(gguf_text(name) + le(type) + std::string(value));
    return *this;
  }
  /// `dims` innermost first.
  GgufBytes& tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset = 0) {
    std::string text = gguf_text(name) + le(static_cast<uint32_t>(dims.size()));
    for (const uint64_t extent : dims) text += le(extent);
    tensors.push_back(text + le(type) + le(offset));
    return *this;
  }
  std::string header() const {
    std::string file = "GGUF" + le(version) + le<uint64_t>(tensors.size()) + le<uint64_t>(keys.size());
    for (const std::string& text : keys) file += text;
    for (const std::string& text : tensors) file += text;
    return file;
  }
  /// Header, padding, data.
  std::string file(std::string_view data = {}, size_t alignment = 32) const {
    std::string text = header();
    text.append((alignment - text.size() % alignment) % alignment, '\0');
    return text.append(data);
  }
};

}  // namespace gesso::testing
