#pragma once
// The documents that go to the library and come from it. Parser and serializer are compiled once, in json.cpp: as
// templates of their header they would take seconds in every source that uses them.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace cli {

/// Objects keep the order of their members.
using Json = nlohmann::ordered_json;

/// Throws Json::exception where the text is not JSON: for documents of the library.
Json parse_json(std::string_view text);

/// As text, indented by `indent` spaces if that is not negative; bytes that are not UTF-8 (a file's name) are replaced.
std::string to_text(const Json& json, int indent = -1);

bool is_utf8(const std::string& text);

}  // namespace cli
