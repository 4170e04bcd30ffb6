#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "server/http.h"

namespace server {

/// Who may ask: the names under which the server is known (against DNS rebinding), pages of other origins (CORS), keys.
class Access {
 public:
  Access(std::vector<std::string> keys, std::vector<std::string> hosts, std::vector<std::string> origins);

  /// Throws ApiError 421 for a Host that is not ours, 403 for a page of another origin, 401 without a key where one is
  /// needed. Returns who it is: "key 1", or the address.
  std::string check(const Request& request, bool needs_key) const;
  /// Headers that let a page of an allowed origin read the answer; none for others.
  std::vector<std::pair<std::string, std::string>> cors_headers(const Request& request) const;
  bool has_keys() const { return !keys_.empty(); }

 private:
  bool knows_host(std::string_view host) const;
  bool knows_origin(const Request& request) const;
  int key_number(const Request& request) const;

  const std::vector<std::string> keys_, hosts_, origins_;
};

/// Equal or not, in a time that depends on the lengths alone.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace server
