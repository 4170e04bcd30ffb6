#pragma once
#include <array>
#include <cstdint>

namespace gesso {

/// The counter-based generator Philox4x32 with 10 rounds (Salmon et al. 2011, "Parallel Random Numbers: As Easy as
/// 1, 2, 3"): four random words that depend on nothing but the counter and the key.
std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

}  // namespace gesso
