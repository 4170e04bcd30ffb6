#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace cli {

/// About twenty lines: what people use, and examples.
std::string short_help(const nlohmann::ordered_json& schema);

/// Every option, grouped, with ranges and defaults.
std::string full_help(const nlohmann::ordered_json& schema);

}  // namespace cli
