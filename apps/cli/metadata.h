#pragma once
#include <string>
#include <vector>

namespace cli {

/// `gesso metadata [--json] [--raw] FILE...`: prints what pictures say of their making, whatever program made them.
/// Returns the exit code; throws Failure.
int metadata(const std::vector<std::string>& arguments);

}  // namespace cli
