#pragma once
#include <random>

namespace gesso {

/// 16 uniform values of [0, 1) turned in place into 16 standard normal ones by Box-Muller, values[i] and values[i + 8]
/// making a pair, with the bits that torch's vectorised CPU kernel gives (normal_fill on x86 with AVX2, the path of
/// every current x86 build). That kernel evaluates the Cephes single-precision polynomials of log, sin and cos
/// (Moshier, "Methods and Programs for Mathematical Functions") with fused multiply-adds.
void torch_normal_16(float* values);

/// One draw of torch's float uniform distribution: the low 24 bits of a word.
float torch_uniform(std::mt19937& engine);

/// One draw of torch's double uniform distribution: the low 53 bits of two words, the first one the higher.
double torch_uniform_double(std::mt19937& engine);

}  // namespace gesso
