#include "text/lora_tags.h"

#include <algorithm>

#include "base/error.h"
#include "text/number.h"

namespace gesso {
namespace {

constexpr size_t kStart = 6;  // the length of "<lora:" and "<lyco:"

char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t end = text.find(separator); end != text.npos; end = text.find(separator)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

// A tag for a message, cut to a readable length.
std::string shown(std::string_view tag) {
  return std::string(tag.substr(0, 80)) + (tag.size() > 80 ? "..." : "");
}

float weight_of(std::string_view number, std::string_view tag) {
  const auto weight = parse_number(number);
  if (!weight)
    fail(ErrorCode::kUsage, "in '{}' a number is wanted where '{}' is; write <lora:name:0.8>", shown(tag),
         shown(number));
  return static_cast<float>(*weight);
}

LoraTag parse_tag(std::string_view tag) {
  const auto parts = split(tag.substr(kStart, tag.size() - kStart - 1), ':');
  if (parts[0].empty() || parts.size() > 3)
    fail(ErrorCode::kUsage, "'{}' is no LoRA tag; write <lora:name:0.8>, or two weights for text encoder and model",
         shown(tag));
  LoraTag result{std::string(parts[0]), 1, 1};
  if (parts.size() > 1) result.text_encoder_weight = result.model_weight = weight_of(parts[1], tag);
  if (parts.size() > 2) result.model_weight = weight_of(parts[2], tag);
  return result;
}

// Where a tag starts at or after `from`, or npos.
size_t find_tag(std::string_view text, size_t from) {
  size_t at = text.find('<', from);
  while (at != text.npos && !(starts_lora_tag(text.substr(at)) && text.substr(at + kStart - 1).starts_with(':')))
    at = text.find('<', at + 1);
  return at;
}

}  // namespace

bool starts_lora_tag(std::string_view text) {
  std::string start(text.substr(0, kStart - 1));
  std::transform(start.begin(), start.end(), start.begin(), ascii_lower);
  return start == "<lora" || start == "<lyco";
}

std::vector<LoraTag> extract_lora_tags(std::string& text) {
  std::vector<LoraTag> tags;
  size_t from = 0;
  for (size_t at = find_tag(text, from); at != text.npos; at = find_tag(text, from)) {
    const size_t end = text.find('>', at);
    if (end == text.npos)
      fail(ErrorCode::kUsage, "the LoRA tag '{}' has no closing '>'", shown(std::string_view(text).substr(at)));
    tags.push_back(parse_tag(std::string_view(text).substr(at, end + 1 - at)));
    text.erase(at, end + 1 - at);
    from = at - std::min(at, kStart - 1);  // what stood around the tag may now be one
  }
  return tags;
}

}  // namespace gesso
