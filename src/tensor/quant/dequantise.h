#pragma once
#include <cstdint>

namespace gesso::quant {

/// One block to f32, bit for bit as ggml's reference does it (ggml-quants.c, and `gguf.quants` of PyPI). Any bytes are
/// a valid block; scales may turn out infinite or NaN.
using Dequantise = void(const uint8_t* block, float* y);

Dequantise dequantise_q1_0, dequantise_q4_0, dequantise_q4_1, dequantise_q5_0, dequantise_q5_1, dequantise_q8_0,
    dequantise_mxfp4, dequantise_nvfp4, dequantise_tq1_0, dequantise_tq2_0;
Dequantise dequantise_q2_k, dequantise_q3_k, dequantise_q4_k, dequantise_q5_k, dequantise_q6_k;
Dequantise dequantise_iq1_s, dequantise_iq1_m, dequantise_iq2_xxs, dequantise_iq2_xs, dequantise_iq2_s,
    dequantise_iq3_xxs, dequantise_iq3_s, dequantise_iq4_nl, dequantise_iq4_xs;

}  // namespace gesso::quant
