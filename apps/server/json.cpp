#include "server/json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace server {
namespace {

constexpr int kDepth = 16;

/// The number that a text is, if it is one altogether.
std::optional<double> as_number(const Json& value) {
  double number = 0;
  if (value.is_number()) {
    number = value.get<double>();
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  } else {
    return std::nullopt;
  }
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::optional<int64_t> as_integer(const Json& value) {
  if (value.is_number_integer() && !(value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX}))
    return value.get<int64_t>();
  if (value.is_string()) {  // all digits of a seed count, which a double may not hold
    const auto& text = value.get_ref<const std::string&>();
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && !text.empty()) return number;
  }
  const std::optional<double> number = as_number(value);
  if (!number || *number != std::floor(*number) || std::abs(*number) > 9007199254740992.0) return std::nullopt;  // 2^53
  return static_cast<int64_t>(*number);
}

}  // namespace

Json parse_object(std::string_view body) {
  std::set<std::string> names;
  const auto guard = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kDepth)
      throw ApiError(400, "usage", fmt::format("the body is nested more than {} levels deep", kDepth));
    if (event == Json::parse_event_t::key && depth == 1 && !names.insert(parsed.get<std::string>()).second)
      throw ApiError(400, "usage", fmt::format("{} is given twice", shown(parsed)), parsed.get<std::string>());
    return true;
  };
  Json document;
  try {
    document = Json::parse(body, guard);
  } catch (const Json::parse_error& error) {
    throw ApiError(400, "usage", fmt::format("the body is not valid JSON (or not UTF-8) at byte {}", error.byte));
  } catch (const Json::exception&) {
    throw ApiError(400, "usage", "the body is not valid JSON: a number is too large");
  }
  if (!document.is_object()) throw ApiError(400, "usage", "the body must be a JSON object, found " + shown(document));
  return document;
}

Json parse_json(std::string_view text) {
  return Json::parse(text);
}

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string shown(const Json& value) {
  std::string text = dumped(value);
  if (text.size() <= 60) return text;
  size_t end = 57;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

const Json* Fields::find(const std::string& name) {
  known_.insert(name);
  const auto member = object_.find(name);
  return member == object_.end() || member->is_null() ? nullptr : &*member;
}

std::optional<std::string> Fields::text(const std::string& name) {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_string()) throw bad_field(name, "wanted a text, found " + shown(*value));
  if (value->get_ref<const std::string&>().find('\0') != std::string::npos)
    throw bad_field(name, "a text must not hold NUL characters");
  return value->get<std::string>();
}

std::optional<bool> Fields::boolean(const std::string& name) {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  if (*value == "true" || *value == 1) return true;
  if (*value == "false" || *value == 0) return false;
  throw bad_field(name, "wanted true or false, found " + shown(*value));
}

std::optional<double> Fields::number(const std::string& name, double minimum, double maximum) {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  const std::optional<double> number = as_number(*value);
  if (!number || *number < minimum || *number > maximum)
    throw bad_field(name, fmt::format("wanted a number from {} to {}, found {}", minimum, maximum, shown(*value)));
  return number;
}

std::optional<int64_t> Fields::integer(const std::string& name, int64_t minimum, int64_t maximum) {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  const std::optional<int64_t> number = as_integer(*value);
  if (!number || *number < minimum || *number > maximum)
    throw bad_field(name,
                    fmt::format("wanted a whole number from {} to {}, found {}", minimum, maximum, shown(*value)));
  return number;
}

std::vector<std::string> Fields::unknown() const {
  std::vector<std::string> names;
  for (const auto& item : object_.items())
    if (!known_.contains(item.key())) names.push_back(item.key());
  return names;
}

}  // namespace server
