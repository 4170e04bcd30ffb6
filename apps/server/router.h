#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "server/api_error.h"
#include "server/http.h"

namespace server {

/// A request on its way through a route.
struct Call {
  Request request;
  ReplyPointer reply;
  std::string client = {};                                        ///< who asks: a key's number or an address
  std::map<std::string, std::string> values = {};                 ///< of the pattern's {names}
  std::vector<std::pair<std::string, std::string>> headers = {};  ///< that every answer carries

  /// Sends with those headers.
  void send(Response response) const;
  void send_json(std::string body, int status = 200) const { send({.status = status, .body = std::move(body)}); }
};

enum class Body { kNone, kJson, kPicture };

struct Route {
  std::string method;
  std::string pattern;                      ///< "/api/v1/jobs/{id}"; {name...} takes slashes too
  std::string summary;                      ///< one line for the API's description
  std::function<void(const Call&)> handle;  ///< may throw ApiError
  Body body = Body::kNone;
  bool needs_key = true;
  bool page = false;  ///< a file of the page, no part of the API
};

class Router {
 public:
  void add(Route route) { routes_.push_back(std::move(route)); }
  const std::vector<Route>& routes() const { return routes_; }
  /// The route of a request, with the pattern's values. Throws ApiError 404, or 405 naming what the path takes.
  const Route& match(const Request& request, std::map<std::string, std::string>& values) const;

 private:
  std::vector<Route> routes_;
};

/// The form in which the clients of a path read errors.
Response error_response(const std::string& path, const ApiError& error);
Response error_response(const std::string& path, int status, const std::string& code, const std::string& message,
                        const std::string& field = {}, int retry_after = 0);

}  // namespace server
