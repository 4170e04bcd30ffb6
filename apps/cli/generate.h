#pragma once
#include <string>
#include <vector>

namespace cli {

/// `gesso generate`: paints, or with --dry-run prints the plan. Returns the exit code; throws Failure.
int generate(const std::vector<std::string>& arguments);

}  // namespace cli
