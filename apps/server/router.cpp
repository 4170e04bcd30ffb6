#include "server/router.h"

#include <optional>

#include "server/json.h"

namespace server {
namespace {

/// Whether a path fits a pattern; fills in the values of its {names}, and of the one {name...} that may hold slashes.
bool fits(std::string_view pattern, std::string_view path, std::map<std::string, std::string>& values) {
  while (!pattern.empty() || !path.empty()) {
    const std::string_view wanted = pattern.substr(0, pattern.find('/', 1));
    if (wanted.ends_with("...}")) {
      const std::string_view rest = pattern.substr(wanted.size());
      if (path.size() <= rest.size() + 1 || path[0] != '/' || !path.ends_with(rest)) return false;
      values[std::string(wanted.substr(2, wanted.size() - 6))] = path.substr(1, path.size() - rest.size() - 1);
      return true;
    }
    const std::string_view part = path.substr(0, path.find('/', 1));
    pattern.remove_prefix(wanted.size());
    path.remove_prefix(part.size());
    if (wanted.starts_with("/{") && part.size() > 1)
      values[std::string(wanted.substr(2, wanted.size() - 3))] = part.substr(1);
    else if (wanted != part)
      return false;
  }
  return true;
}

Json error_body(const std::string& path, int status, const std::string& code, const std::string& message,
                const std::string& field) {
  const Json named = field.empty() ? Json() : Json(field);
  if (path.starts_with("/v1/")) {
    const char* type = status < 500 ? "invalid_request_error" : "server_error";
    return {{"error", {{"message", message}, {"type", type}, {"param", named}, {"code", code}}}};
  }
  if (path.starts_with("/sdapi/"))
    return {{"error", code}, {"detail", message}, {"body", ""}, {"errors", message}, {"field", named}};
  return {{"error", {{"code", code}, {"message", message}, {"field", named}}}};
}

}  // namespace

void Call::send(Response response) const {
  response.headers.insert(response.headers.end(), headers.begin(), headers.end());
  reply->send(std::move(response));
}

const Route& Router::match(const Request& request, std::map<std::string, std::string>& values) const {
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  std::string allowed;
  for (const Route& route : routes_) {
    std::map<std::string, std::string> found;
    if (!fits(route.pattern, request.path, found)) continue;
    if (route.method == method) {
      values = std::move(found);
      return route;
    }
    allowed += (allowed.empty() ? "" : ", ") + route.method;
    if (route.method == "GET") allowed += ", HEAD";
  }
  if (!allowed.empty()) throw ApiError(405, "method_not_allowed", "this path takes " + allowed).allowing(allowed);
  throw ApiError(404, "not_found", "there is no such path; /openapi.json lists what there is");
}

Response error_response(const std::string& path, const ApiError& error) {
  Response response =
      error_response(path, error.status(), error.code(), error.what(), error.field(), error.retry_after());
  if (!error.allow().empty()) response.headers.emplace_back("Allow", error.allow());
  return response;
}

Response error_response(const std::string& path, int status, const std::string& code, const std::string& message,
                        const std::string& field, int retry_after) {
  Response response{.status = status, .body = dumped(error_body(path, status, code, message, field))};
  if (retry_after > 0) response.headers.emplace_back("Retry-After", std::to_string(retry_after));
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace server
