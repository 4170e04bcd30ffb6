#pragma once
#include <span>

namespace gesso {

/// Scales the states [tokens, width] of weighted tokens, then restores their mean, as the AUTOMATIC1111 web UI does
/// (modules/sd_emphasis.py, "Original"). One weight a token; nothing happens where all are 1.
void emphasise(std::span<float> states, std::span<const float> weights);

/// Moves the states [tokens, width] of weighted tokens away from (or, below 1, towards) those that the empty prompt has
/// in the same places, as ComfyUI does (ClipTokenWeightEncoder): empty + weight * (state - empty).
void emphasise_from_empty(std::span<float> states, std::span<const float> empty, std::span<const float> weights);

}  // namespace gesso
