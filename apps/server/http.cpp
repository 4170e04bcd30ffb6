#include "server/http.h"

#include <algorithm>

namespace server {
namespace {

std::string_view find(const std::vector<std::pair<std::string, std::string>>& pairs, std::string_view name) {
  for (const auto& [key, value] : pairs)
    if (key == name) return value;
  return {};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

std::string_view Request::header(std::string_view name) const {
  return find(headers, name);
}
std::string_view Request::parameter(std::string_view name) const {
  return find(query, name);
}

std::string_view reason(int status) {
  struct Row {
    int status;
    std::string_view reason;
  };
  static constexpr Row kRows[] = {{200, "OK"},
                                  {202, "Accepted"},
                                  {204, "No Content"},
                                  {304, "Not Modified"},
                                  {400, "Bad Request"},
                                  {401, "Unauthorized"},
                                  {403, "Forbidden"},
                                  {404, "Not Found"},
                                  {405, "Method Not Allowed"},
                                  {408, "Request Timeout"},
                                  {409, "Conflict"},
                                  {413, "Content Too Large"},
                                  {415, "Unsupported Media Type"},
                                  {421, "Misdirected Request"},
                                  {429, "Too Many Requests"},
                                  {431, "Request Header Fields Too Large"},
                                  {499, "Client Closed Request"},
                                  {500, "Internal Server Error"},
                                  {501, "Not Implemented"},
                                  {503, "Service Unavailable"},
                                  {507, "Insufficient Storage"}};
  const auto row = std::ranges::find(kRows, status, &Row::status);
  return row == std::end(kRows) ? "Unknown" : row->reason;
}

bool percent_decode(std::string_view text, bool plus, std::string& out) {
  out.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (plus && c == '+') c = ' ';
    if (c == '%') {
      if (i + 2 >= text.size()) return false;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return false;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return false;
    out += c;
  }
  return true;
}

bool parse_target(std::string_view target, Request& request) {
  constexpr size_t kMostParameters = 64;
  target = target.substr(0, target.find('#'));
  if (!target.starts_with('/')) return false;
  const size_t mark = target.find('?');
  if (!percent_decode(target.substr(0, mark), false, request.path)) return false;
  if (mark == target.npos) return true;
  for (std::string_view rest = target.substr(mark + 1); !rest.empty();) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    std::string name, value;
    if (!percent_decode(pair.substr(0, equals), true, name)) return false;
    if (equals < pair.size() && !percent_decode(pair.substr(equals + 1), true, value)) return false;
    if (request.query.size() == kMostParameters) return false;
    request.query.emplace_back(std::move(name), std::move(value));
  }
  return true;
}

}  // namespace server
