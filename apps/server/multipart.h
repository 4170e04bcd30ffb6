#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace server {

/// One field of a form.
struct Part {
  std::string name;
  bool file = false;  ///< it came with a file name
  std::string bytes;
};

/// The fields of a multipart/form-data body (RFC 7578), in order. Throws ApiError 415 for another content type, 400 for
/// a body that is not what its type says: a missing boundary, parts without a name, an end that is not there, more than
/// 100 parts.
std::vector<Part> parse_multipart(std::string_view content_type, std::string_view body);

}  // namespace server
