#pragma once
#include <string>
#include <vector>

namespace cli {

/// `gesso convert IN... -o OUT.gguf|OUT.safetensors`: writes models as one file, in other types. Returns the exit code;
/// throws Failure.
int convert(const std::vector<std::string>& arguments);

}  // namespace cli
