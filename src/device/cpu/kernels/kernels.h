#pragma once
#include "device/kernels.h"

/// The CPU's own kernels, written once with Highway and compiled for every instruction set level (isa.h). The comments
/// of gesso::Kernels say what each computes; linear and conv2d are oneDNN's. Work is shared out over independent
/// outputs only, and every output is computed in an order that its own shape fixes: results do not depend on the
/// thread count, nor an image's on its batch.
namespace gesso::cpu {

void attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias, const Attention& a, Tensor& y);
void group_norm(const Tensor& x, const Tensor& add, const Tensor& scale, const Tensor& bias, const GroupNorm& g,
                Tensor& y);
void layer_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, float eps, Tensor& y);
void modulated_norm(const Tensor& x, const Tensor& shift, const Tensor& scale, float eps, Tensor& y);
void rms_norm(const Tensor& x, const Tensor& scale, float eps, Tensor& y);
void rope(const Tensor& x, const Tensor& table, Tensor& y);
void activate(const Tensor& x, Activation a, Tensor& y);
void add(const Tensor& a, const Tensor& b, Tensor& y);
void multiply(const Tensor& a, const Tensor& b, Tensor& y);
void scaled_add(const Tensor& x, float scale, const Tensor& residual, Tensor& y);
void prelu(const Tensor& x, const Tensor& slope, Tensor& y);
void gated_add(const Tensor& x, const Tensor& gate, const Tensor& residual, Tensor& y);
void geglu(const Tensor& x, Tensor& y);
void concat(const Tensor& a, const Tensor& b, Tensor& y);
void columns(const Tensor& x, int64_t begin, Tensor& y);
void patchify(const Tensor& x, const Patch& patch, Tensor& y);
void unpatchify(const Tensor& x, const Patch& patch, Tensor& y);
void upsample_nearest(const Tensor& x, int factor, Tensor& y);
void pad_circular(const Tensor& x, int64_t top, int64_t left, Tensor& y);
void cast(const Tensor& x, Tensor& y);
void to_channels_last(const Tensor& x, Tensor& y);
void to_channels_first(const Tensor& x, Tensor& y);
bool all_finite(const Tensor& x);

}  // namespace gesso::cpu
