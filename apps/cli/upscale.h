#pragma once
#include <string>
#include <vector>

namespace cli {

/// `gesso upscale PICTURE... --upscale-model FILE -o OUT`: makes pictures larger by a network. Returns the exit code;
/// throws Failure.
int upscale(const std::vector<std::string>& arguments);

}  // namespace cli
