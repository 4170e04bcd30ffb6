#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "device/kernels.h"
#include "tensor/tensor.h"
#include "tensor/weight.h"

/// The closed set of operations. Each checks shapes (an Error of kInternal, tagged with the op, says what did not
/// fit), allocates its result on the device of its first tensor and lets that device compute it; on the meta device
/// only shapes and costs come out. Results have the first tensor's type unless stated. Layout is channels-last.
namespace gesso {

/// x [..., in], w [out, in] (trailing ones allowed), bias [out] or null -> [..., out]
Tensor linear(const Tensor& x, const Weight& w, const Weight& bias, const Epilogue& e = {});
/// x [n, h, w, in], weight [out, in, kh, kw], bias [out] or null -> [n, h', w', out]. Along axes that the device wraps,
/// padding is what comes round there.
Tensor conv2d(const Tensor& x, const Weight& w, const Weight& bias, const Conv2d& c, const Epilogue& e = {});
/// softmax(scale q k^T + bias) v per head; q [b, tq, heads * d], k v [b, tk, heads * d] -> shape of q. `bias` is f32
/// [heads or 1, tk, tq] (keys outermost) or empty; minus infinity hides a key.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Attention& a, const Tensor& bias = {});
/// x [n, ..., c] -> same; `add` [n, c] or empty is added to x first.
Tensor group_norm(const Tensor& x, const Weight& scale, const Weight& bias, const GroupNorm& g, const Tensor& add = {});
/// x [..., c] -> same
Tensor layer_norm(const Tensor& x, const Weight& scale, const Weight& bias, float eps);
/// x [n, ..., c], shift and scale [n, c] -> the layer norm of x (without parameters) * (1 + scale) + shift, as in
/// adaLN (Peebles and Xie 2023)
Tensor modulated_norm(const Tensor& x, const Tensor& shift, const Tensor& scale, float eps);
/// x [..., c], scale [c] -> x / sqrt(mean(x^2) + eps) * scale (Zhang and Sennrich 2019)
Tensor rms_norm(const Tensor& x, const Weight& scale, float eps);
/// x [b, t, heads * d], table f32 [t, 2, d] (see nn/rope.h) -> each pair of neighbours of each head turned by its angle
/// (Su et al. 2021)
Tensor rope(const Tensor& x, const Tensor& table);
Tensor activate(const Tensor& x, Activation a);
/// Same shapes.
Tensor multiply(const Tensor& a, const Tensor& b);
/// Same shapes -> residual + scale * x
Tensor scaled_add(const Tensor& x, float scale, const Tensor& residual);
/// x [..., c], slope [c] -> x, or slope * x where x is negative (He et al. 2015)
Tensor prelu(const Tensor& x, const Weight& slope);
/// x and residual [n, ..., c], gate [n, c] -> residual + gate * x
Tensor gated_add(const Tensor& x, const Tensor& gate, const Tensor& residual);
/// Same shapes.
Tensor add(const Tensor& a, const Tensor& b);
inline Tensor operator+(const Tensor& a, const Tensor& b) {
  return add(a, b);
}
/// x [..., 2 c] -> [..., c]: the first half times gelu of the second
Tensor geglu(const Tensor& x);
/// Along the last axis; the other extents agree.
Tensor concat(const Tensor& a, const Tensor& b);
/// Columns [begin, end) of the last axis.
Tensor columns(const Tensor& x, int64_t begin, int64_t end);
/// x [n, h, w, c] -> [n, h / size, w / size, size size c]; h and w are multiples of the size.
Tensor patchify(const Tensor& x, const Patch& patch);
/// The inverse of patchify.
Tensor unpatchify(const Tensor& x, const Patch& patch);
/// x [n, h, w, c] -> [n, height, width, c], which is factor times the size, or up to factor - 1 less (the rest is cut)
Tensor upsample_nearest(const Tensor& x, int factor, int64_t height, int64_t width);
/// x [n, h, w, c] with a border from its opposite sides -> [n, h + top + bottom, w + left + right, c]; also wider than
/// x
Tensor pad_circular(const Tensor& x, int64_t top, int64_t left, int64_t bottom, int64_t right);
/// x itself when it has that type already.
Tensor cast(const Tensor& x, DType dtype);
/// [n, c, h, w] <-> [n, h, w, c]
Tensor to_channels_last(const Tensor& x);
Tensor to_channels_first(const Tensor& x);
/// Rows of table [rows, c] -> [ids, c] as `dtype`. An id outside the table is a kUsage error.
Tensor embedding(Device& device, std::span<const int32_t> ids, const Weight& table, DType dtype);
/// True when no element is NaN or infinite; always true on the meta device.
bool all_finite(const Tensor& x);

/// Rows of x [rows, c] in the given order -> [picked, c]
Tensor gather_rows(const Tensor& x, std::span<const int64_t> picked);

/// The elements as f32 on the host; zeros from the meta device.
std::vector<float> to_values(const Tensor& x);
/// Copies `values` into a new f32 tensor of the device.
Tensor from_values(Device& device, std::span<const float> values, const Shape& shape);

}  // namespace gesso
