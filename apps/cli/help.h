#pragma once
#include <string>

#include "json.h"

namespace cli {

/// About twenty lines: what people use, and examples.
std::string short_help(const Json& schema);

/// Every option, grouped, with ranges and defaults.
std::string full_help(const Json& schema);

}  // namespace cli
