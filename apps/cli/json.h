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

/// As text, indented by `indent` spaces if that is not negative. Throws Json::exception for a text that is not UTF-8.
std::string to_text(const Json& json, int indent = -1);

}  // namespace cli
