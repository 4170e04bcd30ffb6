#include "server/access.h"

#include <arpa/inet.h>

#include <algorithm>

#include "server/api_error.h"
#include "server/base64.h"

namespace server {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// "example.org" of "Example.org:7860", "::1" of "[::1]:7860".
std::string host_name(std::string_view host) {
  if (host.starts_with('[')) return lower(host.substr(1, host.find(']') - 1));
  return lower(host.substr(0, host.find(':')));
}

/// A name that no DNS answer can turn to this server: an address, or the own machine.
bool is_address(const std::string& name) {
  unsigned char buffer[16];
  return ::inet_pton(AF_INET, name.c_str(), buffer) == 1 || ::inet_pton(AF_INET6, name.c_str(), buffer) == 1;
}

/// The key that a request shows: Authorization: Bearer KEY, X-API-Key: KEY, or the password of Basic.
std::string shown_key(const Request& request) {
  const std::string_view authorization = request.header("authorization");
  if (lower(authorization.substr(0, 7)) == "bearer ") return std::string(authorization.substr(7));
  if (lower(authorization.substr(0, 6)) == "basic ") {
    const std::string pair = base64_decode(authorization.substr(6)).value_or("");
    const size_t colon = pair.find(':');
    return colon == pair.npos ? "" : pair.substr(colon + 1);
  }
  return std::string(request.header("x-api-key"));
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0u : 1u;
  for (size_t i = 0; i < a.size(); ++i) {
    const char other = b.empty() ? '\0' : b[i % b.size()];
    difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(other));
  }
  return difference == 0;
}

Access::Access(std::vector<std::string> keys, std::vector<std::string> hosts, std::vector<std::string> origins)
    : keys_(std::move(keys)), hosts_(std::move(hosts)), origins_(std::move(origins)) {}

bool Access::knows_host(std::string_view host) const {
  const std::string name = host_name(host);
  if (name == "localhost" || name.ends_with(".localhost") || is_address(name)) return true;
  return std::ranges::any_of(hosts_,
                             [&](const std::string& allowed) { return allowed == "*" || lower(allowed) == name; });
}

/// A browser says from which page a request comes; one from our own page has our host in it.
bool Access::knows_origin(const Request& request) const {
  const std::string origin = lower(request.header("origin"));
  const std::string host = lower(request.header("host"));
  if (origin.empty() || origin == "http://" + host || origin == "https://" + host) return true;
  return std::ranges::any_of(origins_,
                             [&](const std::string& allowed) { return allowed == "*" || lower(allowed) == origin; });
}

/// From 1; 0: none of ours. All keys are compared, so that time tells nothing.
int Access::key_number(const Request& request) const {
  const std::string key = shown_key(request);
  int number = 0;
  for (size_t i = 0; i < keys_.size(); ++i)
    if (equal_in_constant_time(key, keys_[i])) number = static_cast<int>(i) + 1;
  return number;
}

std::string Access::check(const Request& request, bool needs_key) const {
  const std::string_view host = request.header("host");
  if (!host.empty() && !knows_host(host))
    throw ApiError(421, "host_not_allowed",
                   "this server does not answer to that Host; --allow-host NAME allows a name");
  if (!knows_origin(request))
    throw ApiError(403, "origin_not_allowed",
                   "pages of this origin may not call this server; --allow-origin ORIGIN allows one");
  const int key = key_number(request);
  if (needs_key && !keys_.empty() && key == 0 && request.method != "OPTIONS")
    throw ApiError(401, "key_needed", "this server wants a key: Authorization: Bearer KEY, or X-API-Key: KEY");
  return key > 0 ? "key " + std::to_string(key) : request.address;
}

std::vector<std::pair<std::string, std::string>> Access::cors_headers(const Request& request) const {
  const std::string origin(request.header("origin"));
  if (origin.empty() || !knows_origin(request)) return {};
  return {{"Access-Control-Allow-Origin", origin},
          {"Vary", "Origin"},
          {"Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE, OPTIONS"},
          {"Access-Control-Allow-Headers", "authorization, content-type, x-api-key"},
          {"Access-Control-Expose-Headers", "retry-after, x-gesso-warnings"},
          {"Access-Control-Max-Age", "600"}};
}

}  // namespace server
