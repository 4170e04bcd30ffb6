#pragma once
#include <string>
#include <vector>

namespace cli {

/// `gesso bench [NAME...] [--json] [-t N] [--precision P]`: measures this machine. Returns the exit code; throws
/// Failure.
int bench(const std::vector<std::string>& arguments);

}  // namespace cli
