#pragma once
#include "tensor/tensor.h"
#include "tensor/weight.h"

namespace gesso {

enum class Activation {
  kNone,
  kSilu,
  kGelu,  ///< by erf
  kGeluTanh,
  kQuickGelu,  ///< x sigmoid(1.702 x)
  kRelu,
  kLeakyRelu,   ///< x, or 0.2 x where that is negative
  kSoftClamp3,  ///< 3 tanh(x / 3): within -3 and 3; by itself only, not in an Epilogue
};

/// What follows a matmul or convolution before its result is stored: y = scale activation(x w + bias) + residual.
struct Epilogue {
  Activation activation = Activation::kNone;
  Tensor residual{};  ///< shape of the result, or empty
  float scale = 1.f;
};

/// Padding is zeros, given per side so that the asymmetric padding of the KL encoder needs no copy.
struct Conv2d {
  int stride = 1;
  int top = 0, left = 0, bottom = 0, right = 0;
  static Conv2d same(int kernel) { return {1, kernel / 2, kernel / 2, kernel / 2, kernel / 2}; }
};

struct Attention {
  int heads = 1;
  float scale = 1.f;    ///< on q k^T, before softmax
  bool causal = false;  ///< query i sees keys 0..i
};

struct GroupNorm {
  int groups = 32;
  float eps = 1e-5f;
  Activation activation = Activation::kNone;  ///< kNone or kSilu
};

/// Squares of pixels as one vector each. The channels of a vector are (c, row, column) or (row, column, c).
struct Patch {
  int size = 2;
  bool channels_first = true;
};

/// The device table: one function per operation. Shapes were checked and results allocated by the op (src/ops); a
/// kernel reads its inputs and fills `y`. Activations are f32 or bf16, all of one type within a call unless stated;
/// arithmetic is f32. Kernels neither throw nor log; those of src/device/cpu/ allocate nothing but per-thread scratch.
struct Kernels {
  // Dense: y [rows..., out] from x [rows..., in], w [out, in], bias [out] or null.
  void (*linear)(const Tensor& x, const Weight& w, const Weight& bias, const Epilogue& e, Tensor& y);
  // x [n, h, w, in], weight [out, in, kh, kw].
  void (*conv2d)(const Tensor& x, const Weight& w, const Weight& bias, const Conv2d& c, const Epilogue& e, Tensor& y);
  // q y [b, tq, heads * d], k v [b, tk, heads * d]; `bias` f32 [heads or 1, tk, tq] (keys outermost, the order in which
  // scores are made) or empty is added to the scaled scores.
  void (*attention)(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias, const Attention& a,
                    Tensor& y);
  // x y [n, ..., c]; scale bias f32 [c]; `add` [n, c] of x's type is added to x first when given (time embedding).
  void (*group_norm)(const Tensor& x, const Tensor& add, const Tensor& scale, const Tensor& bias, const GroupNorm& g,
                     Tensor& y);
  // x y [..., c]; scale bias f32 [c].
  void (*layer_norm)(const Tensor& x, const Tensor& scale, const Tensor& bias, float eps, Tensor& y);
  // x y [n, ..., c]; shift scale [n, c] of x's type: the layer norm of x without parameters, times 1 + scale, plus
  // shift.
  void (*modulated_norm)(const Tensor& x, const Tensor& shift, const Tensor& scale, float eps, Tensor& y);
  // x y [..., c] -> x / sqrt(mean(x^2) + eps) * scale; scale f32 [c].
  void (*rms_norm)(const Tensor& x, const Tensor& scale, float eps, Tensor& y);
  // x y [b, t, heads * d], table f32 [t, 2, d]: of each token the cosines, then the sines with their signs, so that
  // y[i] = x[i] cos[i] + x[i ^ 1] sin[i].
  void (*rope)(const Tensor& x, const Tensor& table, Tensor& y);
  // Elementwise, any shape.
  void (*activate)(const Tensor& x, Activation a, Tensor& y);
  void (*add)(const Tensor& a, const Tensor& b, Tensor& y);
  void (*multiply)(const Tensor& a, const Tensor& b, Tensor& y);
  // x residual y of any shape -> residual + scale * x
  void (*scaled_add)(const Tensor& x, float scale, const Tensor& residual, Tensor& y);
  // x y [..., c], slope f32 [c] -> x, or slope * x where x is negative
  void (*prelu)(const Tensor& x, const Tensor& slope, Tensor& y);
  // x residual y [n, ..., c], gate [n, c] -> residual + gate * x
  void (*gated_add)(const Tensor& x, const Tensor& gate, const Tensor& residual, Tensor& y);
  // x [..., 2 c] -> y [..., c] = x[..., :c] * gelu(x[..., c:])
  void (*geglu)(const Tensor& x, Tensor& y);
  // a [..., m], b [..., n] -> y [..., m + n]
  void (*concat)(const Tensor& a, const Tensor& b, Tensor& y);
  // x [..., c] -> y [..., m] = x[..., begin : begin + m]
  void (*columns)(const Tensor& x, int64_t begin, Tensor& y);
  // x [n, h, w, c] -> y [n, h / size, w / size, size size c], and back
  void (*patchify)(const Tensor& x, const Patch& patch, Tensor& y);
  void (*unpatchify)(const Tensor& x, const Patch& patch, Tensor& y);
  // x [n, h, w, c] -> y [n, h', w', c], y[i, j] = x[i / factor, j / factor]; h' and w' as y says
  void (*upsample_nearest)(const Tensor& x, int factor, Tensor& y);
  // x [n, h, w, c] -> y [n, h', w', c], y[i, j] = x[(i - top) mod h, (j - left) mod w]
  void (*pad_circular)(const Tensor& x, int64_t top, int64_t left, Tensor& y);
  // x f32, f16 or bf16 -> y f32, f16 or bf16
  void (*cast)(const Tensor& x, Tensor& y);
  // [n, c, h, w] -> [n, h, w, c] and back, same type
  void (*to_channels_last)(const Tensor& x, Tensor& y);
  void (*to_channels_first)(const Tensor& x, Tensor& y);
  // True when every element is finite.
  bool (*all_finite)(const Tensor& x);
};

}  // namespace gesso
