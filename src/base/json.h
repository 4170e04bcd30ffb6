#pragma once
// JSON documents. Parser and serializer are compiled once, in json.cpp: as templates of their header they would take
// seconds in every source that uses them.
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace gesso {

/// Objects keep the order of their members.
using Json = nlohmann::ordered_json;

/// The document; nothing where the text is not JSON.
std::optional<Json> parse_json(std::string_view text);

/// A document from outside. Throws kUsage, with `what` ("the request") as subject, for text that is not JSON or not
/// UTF-8, for nesting deeper than `depth`, and for a name given twice in the outermost object: the last value would win
/// without a word.
Json parse_document(std::string_view text, std::string_view what, int depth);

/// As text, indented by `indent` spaces if that is not negative; bytes that are not UTF-8 (a file's name) are replaced.
std::string to_text(const Json& json, int indent = -1);

/// A value as a message shows it: cut at about 60 bytes, on a character's border.
std::string shown(const Json& value);

/// A text as a JSON string, in its quotes; bytes that are not UTF-8 are replaced.
std::string json_string(const std::string& text);

}  // namespace gesso
