#include "server/multipart.h"

#include <algorithm>
#include <cctype>

#include "server/api_error.h"

namespace server {
namespace {

constexpr size_t kMostParts = 100, kMostHeader = 8192;

ApiError broken(const std::string& what) {
  return ApiError(400, "usage", "the form is damaged: " + what);
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// The value of `key` among "; key=value; key=\"value\"", or npos-like emptiness with `found` false.
struct Parameter {
  bool found = false;
  std::string value;
};
Parameter parameter(std::string_view header, std::string_view key) {
  for (size_t at = header.find(';'); at != header.npos;) {
    at = header.find_first_not_of("; \t", at);
    if (at == header.npos) break;
    const size_t equals = header.find_first_of("=;", at);
    if (equals == header.npos || header[equals] == ';') {
      at = equals;
      continue;
    }
    const std::string name = lower(header.substr(at, equals - at));
    std::string value;
    size_t end = equals + 1;
    if (end < header.size() && header[end] == '"') {
      for (++end; end < header.size() && header[end] != '"'; ++end) {
        if (header[end] == '\\' && end + 1 < header.size()) ++end;
        value += header[end];
      }
      end = header.find(';', end);
    } else {
      const size_t stop = std::min(header.find(';', end), header.size());
      value = header.substr(end, stop - end);
      end = stop == header.size() ? header.npos : stop;
    }
    if (name == key) return {true, value};
    at = end;
  }
  return {};
}

/// The header of a part, up to and with its blank line, read into `part`.
void read_header(std::string_view header, Part& part) {
  bool named = false;
  while (!header.empty()) {
    const size_t end = std::min(header.find("\r\n"), header.size());
    const std::string_view line = header.substr(0, end);
    header.remove_prefix(std::min(end + 2, header.size()));
    constexpr std::string_view kDisposition = "content-disposition:";
    if (lower(line.substr(0, kDisposition.size())) != kDisposition) continue;
    const std::string_view value = line.substr(kDisposition.size());
    Parameter name = parameter(value, "name");
    named = name.found && !name.value.empty();
    part.name = std::move(name.value);
    part.file = parameter(value, "filename").found || parameter(value, "filename*").found;
  }
  if (!named) throw broken("a part has no name");
}

}  // namespace

std::vector<Part> parse_multipart(std::string_view content_type, std::string_view body) {
  if (!lower(content_type).starts_with("multipart/form-data"))
    throw ApiError(415, "unsupported_media_type", "the body must be multipart/form-data or application/json");
  const std::string boundary = parameter(content_type, "boundary").value;
  if (boundary.empty() || boundary.size() > 70) throw broken("its type names no boundary");

  std::vector<Part> parts;
  const std::string first = "--" + boundary, next = "\r\n--" + boundary;
  size_t at = body.starts_with(first) ? 0 : body.find(next);
  if (at == body.npos) throw broken("its boundary does not occur");
  at += body.starts_with(first) ? first.size() : next.size();
  while (!body.substr(at).starts_with("--")) {
    if (!body.substr(at).starts_with("\r\n")) throw broken("a boundary is not followed by a line's end");
    if (parts.size() == kMostParts) throw broken("it has more than 100 parts");
    at += 2;
    if (body.substr(at).starts_with("\r\n")) throw broken("a part has no name");
    const size_t header_end = body.substr(0, std::min(body.size(), at + kMostHeader)).find("\r\n\r\n", at);
    if (header_end == body.npos) throw broken("the header of a part does not end");
    const size_t end = body.find(next, header_end + 2);  // the blank line's end may begin the next boundary
    if (end == body.npos) throw broken("its last boundary is missing");
    Part& part = parts.emplace_back();
    read_header(body.substr(at, header_end - at), part);
    if (end > header_end + 4) part.bytes = body.substr(header_end + 4, end - header_end - 4);
    at = end + next.size();
  }
  return parts;
}

}  // namespace server
