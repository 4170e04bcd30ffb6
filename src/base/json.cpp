#include "base/json.h"

#include <set>

#include "base/error.h"

namespace gesso {

std::optional<Json> parse_json(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return json;
}

Json parse_document(std::string_view text, std::string_view what, int depth) {
  std::set<std::string> names;
  const auto guard = [&](int level, Json::parse_event_t event, Json& parsed) {
    if (level > depth) fail(ErrorCode::kUsage, "{} is nested more than {} levels deep", what, depth);
    if (event == Json::parse_event_t::key && level == 1 && !names.insert(parsed.get<std::string>()).second)
      fail(ErrorCode::kUsage, "{} is given twice in {}", shown(parsed), what);
    return true;
  };
  try {
    return Json::parse(text, guard);
  } catch (const Json::parse_error& error) {
    fail(ErrorCode::kUsage, "{} is not valid JSON (or not UTF-8) at byte {}", what, error.byte);
  } catch (const Json::exception&) {
    fail(ErrorCode::kUsage, "{} is not valid JSON: a number is too large", what);
  }
}

std::string to_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string shown(const Json& value) {
  std::string text = to_text(value);
  if (text.size() <= 60) return text;
  size_t end = 57;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string json_string(const std::string& text) {
  return to_text(Json(text));
}

}  // namespace gesso
