#pragma once
#include <span>

namespace gesso {

/// Scales the states [tokens, width] of weighted tokens, then restores their mean, as the AUTOMATIC1111 web UI does
/// (modules/sd_emphasis.py, "Original"). One weight a token; nothing happens where all are 1.
void emphasise(std::span<float> states, std::span<const float> weights);

}  // namespace gesso
