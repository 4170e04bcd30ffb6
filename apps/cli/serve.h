#pragma once
#include <string>
#include <vector>

namespace cli {

/// `gesso serve [options]`: runs the server until SIGINT or SIGTERM. Returns the exit code. Throws Failure.
int serve(const std::vector<std::string>& arguments);

}  // namespace cli
