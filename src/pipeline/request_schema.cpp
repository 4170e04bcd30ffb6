#include <algorithm>

#include "pipeline/request.h"
#include "pipeline/request_fields.h"

namespace gesso {
namespace {

/// The JSON type of a field's member; an optional one may also be null.
struct TypeName {
  Json operator()(std::string Request::*) const { return "string"; }
  Json operator()(bool Request::*) const { return "boolean"; }
  Json operator()(int Request::*) const { return "integer"; }
  Json operator()(int64_t Request::*) const { return "integer"; }
  Json operator()(std::optional<std::string> Request::*) const { return {"string", "null"}; }
  Json operator()(std::optional<int> Request::*) const { return {"integer", "null"}; }
  Json operator()(std::optional<double> Request::*) const { return {"number", "null"}; }
};

Json limit(double value) {
  return value == static_cast<double>(static_cast<int64_t>(value)) ? Json(static_cast<int64_t>(value)) : Json(value);
}

Json command_line(const Field& field) {
  Json names = Json::array();
  std::string_view rest = field.options;
  const bool negated = rest.starts_with('!');
  if (negated) rest.remove_prefix(1);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    names.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  Json out = {{"options", std::move(names)}, {"placeholder", field.placeholder}, {"group", field.group}};
  if (std::holds_alternative<bool Request::*>(field.member)) out["flag"] = !negated;  // what giving it sets
  if (field.common) out["common"] = true;
  if (field.role == FieldRole::kFile) out["file"] = "model";
  if (field.role == FieldRole::kInput) out["file"] = "picture";
  if (field.role == FieldRole::kFolder) out["file"] = "folder";
  return out;
}

Json property(const Field& field, const Json& defaults) {
  Json out = {{"description", field.description}};
  out["type"] = field.memory ? Json({"integer", "string"}) : std::visit(TypeName{}, field.member);
  if (field.memory) out["pattern"] = "^[0-9]+(\\.[0-9]+)? *([kKmMgGtT]([iI]?[bB])?|[bB])?$";
  if (field.choices) {
    out["enum"] = field.choices();
    if (out["type"].is_array()) out["enum"].push_back(nullptr);
  }
  if (field.minimum != field.maximum) out["minimum"] = limit(field.minimum), out["maximum"] = limit(field.maximum);
  if (field.multiple > 1) out["multipleOf"] = field.multiple;
  if (field.required) out["minLength"] = 1, out["pattern"] = "[^ \\t\\r\\n]";
  if (const auto value = defaults.find(std::string(field.name)); value != defaults.end()) out["default"] = *value;
  if (!field.absent.empty()) out["x-absent"] = field.absent;
  out["x-cli"] = command_line(field);
  return out;
}

Json build_schema() {
  const Json defaults = request_to_json(Request{});
  Json properties = Json::object(), required = Json::array();
  for (const Field& field : request_fields()) {
    properties[std::string(field.name)] = property(field, defaults);
    if (field.required) required.push_back(field.name);
  }
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "Gesso request"},
          {"description", "What to paint. A field that is absent, or null, is decided by the model."},
          {"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

}  // namespace

const Json& request_schema() {
  static const Json schema = build_schema();
  return schema;
}

}  // namespace gesso
