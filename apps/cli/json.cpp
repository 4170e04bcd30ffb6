#include "json.h"

namespace cli {

Json parse_json(std::string_view text) {
  return Json::parse(text);
}

std::string to_text(const Json& json, int indent) {
  return json.dump(indent);
}

}  // namespace cli
