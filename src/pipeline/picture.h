#pragma once
#include <string>
#include <vector>

#include "media/image.h"
#include "pipeline/engine.h"

namespace gesso {

/// A finished picture of a resolved request: pixels, seed and, if the request wants metadata, its recipe as the text
/// that A1111 writes and as JSON. `index` counts the pictures of the request from 0.
Picture make_picture(const Request& resolved, int index, const std::string& model_name, Image image);

}  // namespace gesso
