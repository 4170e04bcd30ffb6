#pragma once
#include <cstdint>

namespace gesso::quant {

/// The codebooks of the IQ types: each entry is one group of quantised magnitudes, packed from the lowest bits up. They
/// are data of ggml (MIT, see ggml.LICENSE), found there by search; nothing computes them.

/// Eight fields of 2 bits: 0, 1, 2 stand for kGrid2Values.
extern const uint16_t kGridIQ2XXS[256], kGridIQ2XS[512], kGridIQ2S[1024];
/// Eight fields of 2 bits: 0, 1, 2 stand for -1, 0, 1.
extern const uint16_t kGridIQ1S[2048];
/// Four fields of 3 bits; k stands for kGridIQ3XXSValues[k], and in IQ3_S for 2 k + 1.
extern const uint16_t kGridIQ3XXS[256], kGridIQ3S[512];

inline constexpr float kGrid2Values[4] = {8, 25, 43, 0};
inline constexpr float kGridIQ1SValues[4] = {-1, 0, 1, 0};
inline constexpr float kGridIQ3XXSValues[8] = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr float kGridIQ3SValues[8] = {1, 3, 5, 7, 9, 11, 13, 15};
/// The levels of IQ4_NL and IQ4_XS.
inline constexpr int8_t kLevelsIQ4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
/// Twice the values of E2M1, the 4-bit float of MXFP4 and NVFP4; bit 3 is the sign.
inline constexpr int8_t kLevelsE2M1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace gesso::quant
