// The description of the routes (OpenAPI 3.1): what the router knows of them, and the rest from openapi.json.
#include <cstddef>
#include <span>

#include "server/request_decoder.h"
#include "server/service.h"

namespace gesso {
std::span<const std::byte> embedded_openapi_json();
}

namespace server {
namespace {

const Json& details() {
  static const Json parsed = [] {
    const std::span<const std::byte> bytes = gesso::embedded_openapi_json();
    return parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }();
  return parsed;
}

/// The request schema as this server takes it: without what is its own or the command line's, within its limits.
Json request_schema(const RequestLimits& limits) {
  Json out = schema();
  out.erase("$schema");
  for (const char* name : {"threads", "memory", "wildcards", "grid", "grid_cells"}) out["properties"].erase(name);
  for (auto& [name, property] : out["properties"].items()) {
    const Json cli = property.value("x-cli", Json::object());
    if (cli.value("file", "") == "model") property["description"] = "name of a model, as in /api/v1/models";
    if (cli.value("file", "") == "picture") {
      property["contentEncoding"] = "base64";
      property["description"] = "PNG, JPEG or WebP in base64, with or without data:image/png;base64, before it";
    }
    property.erase("x-cli");
    property.erase("x-absent");
  }
  out["properties"]["steps"]["maximum"] = limits.steps;
  out["properties"]["batch_count"]["maximum"] = limits.batch;
  return out;
}

/// "/api/v1/models/{name}/load" of "/api/v1/models/{name...}/load"
std::string public_path(std::string pattern) {
  if (const size_t dots = pattern.find("...}"); dots != pattern.npos) pattern.erase(dots, 3);
  return pattern;
}

const char* error_schema(const std::string& path) {
  if (path.starts_with("/v1/")) return "#/components/schemas/OpenAiError";
  return path.starts_with("/sdapi/") ? "#/components/schemas/SdapiError" : "#/components/schemas/Error";
}

Json operation(const Route& route, const std::string& path) {
  Json out = {{"summary", route.summary}, {"parameters", Json::array()}};
  for (size_t open = path.find('{'); open != path.npos; open = path.find('{', open + 1)) {
    const std::string name = path.substr(open + 1, path.find('}', open) - open - 1);
    out["parameters"].push_back({{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  }
  if (route.body != Body::kNone)
    out["requestBody"] = {{"content", {{"application/json", {{"schema", {{"type", "object"}}}}}}}};
  const Json known = details()["operations"].value(route.method + " " + path, Json::object());
  for (const auto& [key, value] : known.items()) {
    if (key == "parameters")
      out[key].insert(out[key].end(), value.begin(), value.end());
    else
      out[key] = value;
  }
  out["responses"]["default"] = {
      {"description", "an error that says why"},
      {"content", {{"application/json", {{"schema", {{"$ref", error_schema(route.pattern)}}}}}}}};
  if (!route.needs_key) out["security"] = Json::array();
  return out;
}

void send_openapi(const Service& service, const Call& call) {
  Json paths = Json::object();
  for (const Route& route : service.router.routes()) {
    if (route.page) continue;
    std::string method = route.method;
    for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
    const std::string path = public_path(route.pattern);
    paths[path][method] = operation(route, path);
  }
  Json schemas = details()["schemas"];
  schemas["Request"] = request_schema(service.options.limits);
  Json document = {
      {"openapi", "3.1.0"},
      {"info", {{"title", "Gesso"}, {"version", gesso_version()}}},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", std::move(schemas)}, {"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
  if (service.access.has_keys()) document["security"] = Json::array({{{"key", Json::array()}}});
  call.send_json(dumped(document));
}

}  // namespace

void add_description_routes(Router& router, const Service& service) {
  for (const char* path : {"/api/v1/openapi.json", "/openapi.json"})
    router.add({"GET", path, "This description", [&service](const Call& call) { send_openapi(service, call); },
                Body::kNone, false});
}

}  // namespace server
