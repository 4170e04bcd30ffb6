#pragma once
#include <cstdint>

namespace gesso::quant {

/// One row of `width` finite values, a multiple of the type's block, to blocks. `importance` [width], where given, says
/// how much an error in each column costs (a mean square of what it is multiplied with); the types in the second line
/// do not use it. Byte for byte what ggml's reference makes (ggml-quants.c) of ordinary values; of extreme ones (sums
/// of squares that overflow) at least something defined.
using Quantise = void(const float* x, int64_t width, const float* importance, uint8_t* blocks);

Quantise quantise_q4_0, quantise_q4_1, quantise_q5_0, quantise_q5_1;
Quantise quantise_q1_0, quantise_q8_0, quantise_mxfp4, quantise_nvfp4, quantise_tq1_0, quantise_tq2_0;
Quantise quantise_q2_k, quantise_q3_k, quantise_q4_k, quantise_q5_k, quantise_q6_k;
Quantise quantise_iq4_nl, quantise_iq4_xs, quantise_iq3_xxs, quantise_iq3_s, quantise_iq2_s, quantise_iq1_m;
/// The reference refuses these without importance; here all columns then count the same.
Quantise quantise_iq2_xxs, quantise_iq2_xs, quantise_iq1_s;

}  // namespace gesso::quant
