#pragma once
#include "ops/ops.h"
#include "weights/weight_store.h"

/// Layers: the constructor names and checks the weights, the call is the mathematics.
namespace gesso::nn {

struct Linear {
  Linear() = default;
  Linear(const WeightScope& w, int64_t in, int64_t out, bool with_bias = true)
      : weight(w.get("weight", {out, in})), bias(with_bias ? w.get("bias", {out}) : nullptr) {}
  Tensor operator()(const Tensor& x, const Epilogue& e = {}) const { return linear(x, weight, bias, e); }
  Weight weight, bias;
};

/// Channels-last; `padding` as for torch unless the call says otherwise.
struct Conv2d {
  Conv2d() = default;
  Conv2d(const WeightScope& w, int64_t in, int64_t out, int kernel, bool with_bias = true)
      : weight(w.get("weight", {out, in, kernel, kernel})),
        bias(with_bias ? w.get("bias", {out}) : nullptr),
        attrs(gesso::Conv2d::same(kernel)) {}
  Tensor operator()(const Tensor& x, const Epilogue& e = {}) const { return conv2d(x, weight, bias, attrs, e); }
  Weight weight, bias;
  gesso::Conv2d attrs;
};

struct GroupNorm {
  GroupNorm() = default;
  GroupNorm(const WeightScope& w, int64_t channels, int groups, float eps, Activation activation = Activation::kNone)
      : scale(w.get("weight", {channels})), bias(w.get("bias", {channels})), attrs{groups, eps, activation} {}
  /// `add` [n, c] is added to x first.
  Tensor operator()(const Tensor& x, const Tensor& add = {}) const { return group_norm(x, scale, bias, attrs, add); }
  Weight scale, bias;
  gesso::GroupNorm attrs;
};

struct LayerNorm {
  LayerNorm() = default;
  LayerNorm(const WeightScope& w, int64_t width, float epsilon = 1e-5f)
      : scale(w.get("weight", {width})), bias(w.get("bias", {width})), eps(epsilon) {}
  Tensor operator()(const Tensor& x) const { return layer_norm(x, scale, bias, eps); }
  Weight scale, bias;
  float eps = 1e-5f;
};

struct RmsNorm {
  RmsNorm() = default;
  RmsNorm(const WeightScope& w, int64_t width, float epsilon = 1e-6f) : scale(w.get("weight", {width})), eps(epsilon) {}
  Tensor operator()(const Tensor& x) const { return rms_norm(x, scale, eps); }
  /// x [b, t, heads * width]: each head by itself.
  Tensor by_head(const Tensor& x) const {
    const int64_t width = scale->shape()[0];
    return rms_norm(x.reshape({x.dim(0) * x.dim(1) * (x.dim(2) / width), width}), scale, eps).reshape(x.shape());
  }
  Weight scale;
  float eps = 1e-6f;
};

/// A Linear whose extents are those of its weight.
inline Linear linear_by_shape(const WeightScope& w, bool with_bias = true) {
  return {w, w.extent("weight", 1), w.extent("weight", 0), with_bias};
}

/// Two linear layers with an activation between.
struct Mlp {
  Mlp() = default;
  Mlp(const WeightScope& w, const char* first, const char* second, Activation act)
      : in(linear_by_shape(w / first)), out(linear_by_shape(w / second)), activation(act) {}
  Tensor operator()(const Tensor& x, const Epilogue& e = {}) const { return out(in(x, {.activation = activation}), e); }
  Linear in, out;
  Activation activation = Activation::kNone;
};

}  // namespace gesso::nn
