#include "models/inspect_details.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utf8proc.h>

#include <algorithm>
#include <optional>
#include <set>

#include "models/names/adapter.h"

namespace gesso {
namespace {

/// A text of at most `bytes` bytes, cut on a character's border.
std::string cut(std::string text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return fmt::format("{}... ({} bytes in all)", text.substr(0, bytes), text.size());
}

/// The number of elements that the text of a GGUF array tells of: "[a, b, ... 32128 in all]", or those that it shows.
std::optional<int64_t> elements_of(std::string_view array) {
  if (const size_t at = array.rfind("... "); at != array.npos && array.ends_with(" in all]")) {
    int64_t count = 0;
    for (const char c : array.substr(at + 4))
      if (c >= '0' && c <= '9') count = count * 10 + (c - '0');
    return count;
  }
  return std::nullopt;
}

}  // namespace

std::string shown_text(std::string_view text) {
  std::string result;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (size_t at = 0; at < text.size();) {
    utf8proc_int32_t code = 0;
    const auto length = utf8proc_iterate(bytes + at, static_cast<utf8proc_ssize_t>(text.size() - at), &code);
    const bool good = length > 0 && utf8proc_category(code) != UTF8PROC_CATEGORY_CC;
    result += good ? text.substr(at, static_cast<size_t>(length)) : std::string_view("?");
    at += length > 0 ? static_cast<size_t>(length) : 1;
  }
  return result;
}

std::string size_text(uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (value < 1e3) return fmt::format("{} bytes", bytes);
  if (value < 1e6) return fmt::format("{:.1f} KB", value / 1e3);
  if (value < 1e9) return fmt::format("{:.1f} MB", value / 1e6);
  return fmt::format("{:.2f} GB", value / 1e9);
}

void add_tokenizer(const RecognisedFile& file, ModelReport& report, Json& json) {
  json["tokenizer"] = nullptr;
  const auto found = file.metadata.find("tokenizer.ggml.model");
  if (found != file.metadata.end()) {
    Json& tokenizer = json["tokenizer"] = {{"source", "metadata"}, {"model", shown_text(found->second)}};
    std::string line = "  tokenizer: " + cut(shown_text(found->second), 80) + ", in the metadata";
    const auto tokens = file.metadata.find("tokenizer.ggml.tokens");
    if (const auto count = tokens == file.metadata.end() ? std::nullopt : elements_of(tokens->second)) {
      tokenizer["tokens"] = *count;
      line += fmt::format(", {} tokens", *count);
    }
    report.lines.push_back(std::move(line));
  }
  // As ComfyUI's text encoders carry it.
  for (const TensorInfo& t : file.tensors)
    for (const std::string_view name : {"spiece_model", "tekken_model", "tokenizer_json"})
      if (t.name == name || t.name.ends_with("." + std::string(name))) {
        json["tokenizer"] = {{"source", "tensor"}, {"model", name}, {"bytes", t.bytes}};
        report.lines.push_back(fmt::format("  tokenizer: {} of {}, in a tensor", name, size_text(t.bytes)));
      }
}

void add_metadata(const RecognisedFile& file, ModelReport& report, Json& json) {
  constexpr size_t kLongest = 4096, kLongestShown = 100, kShown = 12;
  Json& all = json["metadata"] = Json::object();
  size_t shown = 0, others = 0;
  for (const auto& [key, value] : file.metadata) {
    all[shown_text(key)] = cut(shown_text(value), kLongest);
    if (key.starts_with("tokenizer.")) continue;  // told of above
    if (shown == kShown) {
      ++others;
      continue;
    }
    ++shown;
    report.lines.push_back(
        fmt::format("  {} = {}", cut(shown_text(key), kLongestShown), cut(shown_text(value), kLongestShown)));
  }
  if (others > 0) report.lines.push_back(fmt::format("  and {} more entries of metadata: --json has them", others));
}

void add_adapter(const RecognisedFile& file, const Component& component, ModelReport& report) {
  std::set<std::string> modules;
  std::set<int64_t> ranks;
  for (const PlacedTensor& placed : component.tensors) {
    const TensorInfo& t = file.tensors[placed.tensor_index];
    const auto name = parse_adapter_name(t.name);
    if (!name) continue;
    modules.insert(name->module);
    if (name->part == AdapterPart::kDown && t.shape.rank() >= 2) ranks.insert(t.shape[0]);
  }
  std::string line = fmt::format("    {} modules", modules.size());
  if (ranks.size() == 1)
    line += fmt::format(" of rank {}", *ranks.begin());
  else if (!ranks.empty())
    line += fmt::format(" of ranks {} to {}", *ranks.begin(), *ranks.rbegin());
  report.lines.push_back(std::move(line));
}

}  // namespace gesso
