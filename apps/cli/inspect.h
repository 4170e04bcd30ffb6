#pragma once
#include <string>
#include <vector>

namespace cli {

/// `gesso inspect [--json] FILE...`: prints what files are. Returns the exit code; throws Failure.
int inspect(const std::vector<std::string>& arguments);

}  // namespace cli
