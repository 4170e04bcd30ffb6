#pragma once
// Heavy: only sources include it. Parser and serializer are compiled once, in json.cpp.
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "server/api_error.h"

namespace server {

using Json = nlohmann::ordered_json;

/// A JSON object from a body of any bytes. Throws ApiError 400: not JSON, not an object, nested deeper than 16 levels,
/// a name given twice.
Json parse_object(std::string_view body);

/// A document of ours, which is known to be JSON. Throws Json::exception where it is not.
Json parse_json(std::string_view text);

/// As text; bytes that are not UTF-8 (a file's name) are replaced.
std::string dumped(const Json& json);

/// A value as a message shows it, cut to about 60 bytes.
std::string shown(const Json& value);

/// Reads the members of an object as clients write them: null is absent, numbers may be texts ("20") and whole numbers
/// may have a point (20.0). Throws ApiError 400 naming the member, what was wanted and what was found.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  /// The value, or null when it is absent; it counts as known from now on.
  const Json* find(const std::string& name);
  std::optional<std::string> text(const std::string& name);
  std::optional<bool> boolean(const std::string& name);
  std::optional<double> number(const std::string& name, double minimum, double maximum);
  std::optional<int64_t> integer(const std::string& name, int64_t minimum, int64_t maximum);
  /// Names of members that nobody asked for.
  std::vector<std::string> unknown() const;

 private:
  const Json& object_;
  std::set<std::string> known_;
};

}  // namespace server
