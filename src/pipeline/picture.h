#pragma once
#include <string>
#include <vector>

#include "pipeline/engine.h"

namespace gesso {

/// A finished picture of a resolved request: pixels, seed and, if the request wants metadata, its recipe as the text
/// that A1111 writes and as JSON. `index` counts the pictures of the request from 0.
Picture make_picture(const Request& resolved, int index, const std::string& model_name, std::vector<uint8_t> pixels);

}  // namespace gesso
