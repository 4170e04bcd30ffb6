#include "media/parameters.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "media/unicode.h"

namespace gesso {
namespace {

constexpr std::string_view kNegative = "Negative prompt:", kBlanks = " \t\r\n\f\v";
constexpr size_t kFewestFields = 3;

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// What the format takes for a word character: letters of any script among them.
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80);
}
bool is_name(char c) {
  return is_word(c) || c == ' ' || c == '-' || c == '/';
}

bool is_field_name(std::string_view name) {
  return name.size() >= 2 && is_word(name[0]) && std::all_of(name.begin(), name.end(), is_name);
}

std::string quoted_value(const std::string& value) {
  const bool plain = !value.empty() && value.find_first_of(",:\n\r") == value.npos && value.front() != '"' &&
                     trimmed(value).size() == value.size();
  return plain ? value : json_string(valid_utf8(value));
}

std::string unquoted_value(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return std::string(value);
  const std::optional<Json> json = parse_json(value);
  return json && json->is_string() ? json->get<std::string>() : std::string(value);
}

/// The length of the JSON-like string at the front of `text`, when a comma or the end follows it; 0 otherwise.
size_t quoted_length(std::string_view text) {
  if (!text.starts_with('"')) return 0;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      return i > 1 && (i + 1 == text.size() || text[i + 1] == ',') ? i + 1 : 0;
  }
  return 0;
}

/// Takes the next `name: value` off the front of `line`; what lies before it and is none is skipped.
std::optional<std::pair<std::string, std::string>> next_field(std::string_view& line) {
  while (!line.empty()) {
    if (!is_word(line[0])) {
      line.remove_prefix(1);
      continue;
    }
    const auto name_end = std::find_if_not(line.begin(), line.end(), is_name);
    const std::string_view name = line.substr(0, static_cast<size_t>(name_end - line.begin()));
    line.remove_prefix(name.size());
    if (!line.starts_with(':') || name.size() < 2) continue;
    line.remove_prefix(1);
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    const size_t quoted = quoted_length(line);
    const std::string_view value = line.substr(0, quoted ? quoted : line.find(','));
    line.remove_prefix(std::min(value.size() + 1, line.size()));
    return std::pair(std::string(name), unquoted_value(value));
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> fields_of(std::string_view line) {
  std::vector<std::pair<std::string, std::string>> fields;
  while (auto field = next_field(line)) fields.push_back(std::move(*field));
  return fields;
}

}  // namespace

std::string format_parameters(const Parameters& parameters) {
  std::string text = parameters.prompt;
  if (!parameters.negative.empty()) text.append("\n").append(kNegative).append(" ").append(parameters.negative);
  text += '\n';
  for (size_t i = 0; i < parameters.fields.size(); ++i) {
    const auto& [name, value] = parameters.fields[i];
    if (!is_field_name(name))
      fail(ErrorCode::kUsage, "a picture's parameters cannot have a field named {}: only letters, digits and -_/",
           json_string(name));
    text.append(i ? ", " : "").append(name).append(": ").append(quoted_value(value));
  }
  return std::string(trimmed(text));
}

Parameters parse_parameters(std::string_view text) {
  text = trimmed(text);
  Parameters result;
  const size_t last_begin = text.rfind('\n') + 1;  // npos + 1 is 0
  result.fields = fields_of(text.substr(last_begin));
  if (result.fields.size() < kFewestFields)
    result.fields.clear();
  else
    text = text.substr(0, last_begin ? last_begin - 1 : 0);

  bool negative = false;
  while (true) {
    const size_t end = text.find('\n');
    std::string_view line = trimmed(text.substr(0, end));
    if (line.starts_with(kNegative)) {
      line = trimmed(line.substr(kNegative.size()));
      negative = true;
    }
    std::string& target = negative ? result.negative : result.prompt;
    target.append(target.empty() ? "" : "\n").append(line);
    if (end == text.npos) break;
    text.remove_prefix(end + 1);
  }
  return result;
}

}  // namespace gesso
