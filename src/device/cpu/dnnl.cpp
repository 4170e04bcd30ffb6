#include "device/cpu/dnnl.h"

#include <array>
#include <compare>
#include <dnnl.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "base/threads.h"
#include "device/cpu/kernels/kernels.h"
#include "device/device.h"

namespace gesso::cpu {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using Dims = memory::dims;
using Tag = memory::format_tag;

const dnnl::engine& engine() {
  static const dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

memory::data_type type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return memory::data_type::f32;
    case DType::kBF16:
      return memory::data_type::bf16;
    default:
      fail(ErrorCode::kInternal, "no dense product on {}", to_string(dtype));
  }
}

void append_activation(dnnl::post_ops& ops, Activation activation) {
  const auto append = [&](algorithm kind, float alpha) {
#if DNNL_VERSION_MAJOR >= 3
    ops.append_eltwise(kind, alpha, 0.f);
#else
    ops.append_eltwise(1.f, kind, alpha, 0.f);
#endif
  };
  switch (activation) {
    case Activation::kNone:
      return;
    case Activation::kSilu:
      return append(algorithm::eltwise_swish, 1.f);
    case Activation::kQuickGelu:
      return append(algorithm::eltwise_swish, 1.702f);
    case Activation::kGelu:
      return append(algorithm::eltwise_gelu_erf, 0.f);
    case Activation::kGeluTanh:
      return append(algorithm::eltwise_gelu_tanh, 0.f);
    case Activation::kLeakyRelu:
      return append(algorithm::eltwise_relu, 0.2f);
    case Activation::kRelu:
      return append(algorithm::eltwise_relu, 0.f);
    case Activation::kSoftClamp3:
      fail(ErrorCode::kInternal, "the clamp is no part of a dense product");
  }
}

void append_scale(dnnl::post_ops& ops, float scale) {
#if DNNL_VERSION_MAJOR >= 3
  ops.append_eltwise(algorithm::eltwise_linear, scale, 0.f);
#else
  ops.append_eltwise(1.f, algorithm::eltwise_linear, scale, 0.f);
#endif
}

/// What distinguishes one primitive of a weight from another. `extents` are those of the input; `attrs` the padding.
struct Key {
  std::array<int64_t, 4> extents;
  std::array<int, 5> attrs;
  DType dtype;
  Activation activation;
  float scale;
  bool residual;
  int threads;
  auto operator<=>(const Key&) const = default;
};

struct Call {
  dnnl::primitive primitive;
  memory::desc source, target, bias;
};

/// The form of a weight that oneDNN wants, and the primitives that read it. Lives in the weight (WeightData::prepared).
struct Packed {
  DType dtype;
  memory weights;
  std::map<Key, Call> calls;
};

/// One dense product, whatever its kind: how to build the primitive for a given layout of the weights, and the layout
/// of the plain values.
struct Recipe {
  Key key;
  memory::desc source, target, bias, plain_weights, any_weights;
  // Fills `made` and returns the layout it wants its weights in; throws dnnl::error when there is none.
  std::function<memory::desc(const memory::desc& weights, const dnnl::primitive_attr& attr, dnnl::primitive& made)>
      build;
};

dnnl::primitive_attr attributes(const Recipe& recipe) {
  dnnl::post_ops ops;
  append_activation(ops, recipe.key.activation);
  if (recipe.key.scale != 1) append_scale(ops, recipe.key.scale);
  if (recipe.key.residual) ops.append_binary(algorithm::binary_add, recipe.target);
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);
  return attr;
}

memory pack(const Recipe& recipe, const Weight& w, Device& device, const memory::desc& wanted) {
  const Tensor plain = w->read(device, recipe.key.dtype);
  const memory source(recipe.plain_weights, engine(), plain.raw());
  memory target(wanted, engine());
  dnnl::stream stream(engine());
  dnnl::reorder(source, target).execute(stream, const_cast<memory&>(source), target);
  stream.wait();
  return target;
}

/// The primitive for this call, made and its weights packed at first use.
Call& prepare(const Recipe& recipe, const Weight& w, Device& device, Packed& packed) {
  if (const auto found = packed.calls.find(recipe.key); found != packed.calls.end()) return found->second;
  const dnnl::primitive_attr attr = attributes(recipe);
  Call call{{}, recipe.source, recipe.target, recipe.bias};
  const memory::desc wanted = recipe.build(recipe.any_weights, attr, call.primitive);
  if (!packed.weights) {
    packed.weights = pack(recipe, w, device, wanted);
  } else if (packed.weights.get_desc() != wanted) {
    // Another shape packed these weights otherwise. One copy only: repack, and drop what reads the old layout.
    packed.calls.clear();
    packed.weights = {};
    packed.weights = pack(recipe, w, device, wanted);
  }
  return packed.calls.emplace(recipe.key, std::move(call)).first->second;
}

void execute(const Recipe& recipe, const Tensor& x, const Weight& w, const Weight& bias, const Epilogue& e, Tensor& y) {
  try {
    const auto fits = [&](const Packed& held) { return held.dtype == recipe.key.dtype; };
    const auto packed = w->prepared<Packed>(fits, [&] {
      return std::make_shared<Packed>(Packed{recipe.key.dtype, {}, {}});
    });
    const Call& call = prepare(recipe, w, x.device(), *packed);
    std::unordered_map<int, memory> args{{DNNL_ARG_SRC, memory(call.source, engine(), x.raw())},
                                         {DNNL_ARG_WEIGHTS, packed->weights},
                                         {DNNL_ARG_DST, memory(call.target, engine(), y.raw())}};
    Tensor bias_values;
    if (bias) {
      bias_values = parameter(x.device(), bias);
      args.emplace(DNNL_ARG_BIAS, memory(call.bias, engine(), bias_values.raw()));
    }
    if (e.residual) {
      const int index = (e.activation != Activation::kNone) + (e.scale != 1);
      args.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_ARG_SRC_1,
                   memory(call.target, engine(), e.residual.raw()));
    }
    dnnl::stream stream(engine());
    call.primitive.execute(stream, args);
    stream.wait();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory)
      fail(ErrorCode::kOutOfMemory, "out of memory while preparing {}", w->name());
    fail(ErrorCode::kUnsupported, "this processor cannot compute {} in {}: {}; try --precision f32", w->name(),
         to_string(x.dtype()), error.message ? error.message : "unknown reason");
  }
}

/// Runs on one thread while it lives.
class OneThread {
 public:
  OneThread() : before_(thread_count()) { set_thread_count(1); }
  ~OneThread() { set_thread_count(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// Whether oneDNN's matrix products share out results among threads. Below AVX-512 they may share out sums instead,
/// whose rounding then depends on the number of threads; its convolutions gave the same bytes in
/// every shape that the tests try.
bool products_are_stable() {
  static const bool has_avx512 = (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
  return has_avx512;
}

/// The same holds of products with few rows where bf16 is emulated; one thread computes those.
constexpr int64_t kSmallResult = 1 << 14;

/// Below AVX2, products with a fused residual failed their test against the definition with oneDNN 2.6 (why was not
/// found); there it is added after the product.
bool fuses_residuals() {
  static const bool has_avx2 = (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2;
  return has_avx2;
}

/// `y` has four dimensions; the weight's plain values are [out, in, kh, kw], whatever shape it names.
void convolve(const Tensor& x, const Weight& w, int64_t kh, int64_t kw, const Weight& bias, const Conv2d& c,
              const Epilogue& e, Tensor& y) {
  if (y.elements() == 0) return;
  if (e.residual && !fuses_residuals()) {
    convolve(x, w, kh, kw, bias, c, {.activation = e.activation, .scale = e.scale}, y);
    return add(y, e.residual, y);
  }
  const int64_t n = x.dim(0), h = x.dim(1), width = x.dim(2), in = x.dim(3), out = y.dim(3);
  const auto type = type_of(x.dtype());
  const Recipe recipe{{{n, h, width, in},
                       {c.stride, c.top, c.left, c.bottom, c.right},
                       x.dtype(),
                       e.activation,
                       e.scale,
                       static_cast<bool>(e.residual),
                       thread_count()},
                      memory::desc({n, in, h, width}, type, Tag::nhwc),
                      memory::desc({n, out, y.dim(1), y.dim(2)}, type, Tag::nhwc),
                      bias ? memory::desc({out}, memory::data_type::f32, Tag::a) : memory::desc(),
                      memory::desc({out, in, kh, kw}, type, Tag::oihw),
                      memory::desc({out, in, kh, kw}, type, Tag::any),
                      [&](const memory::desc& weights, const dnnl::primitive_attr& attr, dnnl::primitive& made) {
                        const Dims strides{c.stride, c.stride}, before{c.top, c.left}, after{c.bottom, c.right};
                        constexpr auto kind = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
                        const dnnl::convolution_forward::primitive_desc pd(
                            engine(), kind, algorithm::convolution_direct, recipe.source, weights, recipe.bias,
                            recipe.target, strides, before, after, attr);
#else
                        const dnnl::convolution_forward::primitive_desc pd(
                            dnnl::convolution_forward::desc(kind, algorithm::convolution_direct, recipe.source, weights,
                                                            recipe.bias, recipe.target, strides, before, after),
                            attr, engine());
#endif
                        made = dnnl::convolution_forward(pd);
                        return pd.weights_desc();
                      }};
  execute(recipe, x, w, bias, e, y);
}

}  // namespace

void linear(const Tensor& x, const Weight& w, const Weight& bias, const Epilogue& e, Tensor& y) {
  const int64_t in = x.dim(-1), out = y.dim(-1), rows = in == 0 ? 0 : x.elements() / in;
  if (rows == 0) return;
  if (!products_are_stable()) {
    Tensor pixels = y.reshape({1, rows, 1, out});
    return convolve(x.reshape({1, rows, 1, in}), w, 1, 1, bias, {}, e, pixels);
  }
  std::optional<OneThread> alone;
  if (rows * out < kSmallResult) alone.emplace();
  const auto type = type_of(x.dtype());
  const Recipe recipe{
      {{rows, in, out, 0}, {}, x.dtype(), e.activation, e.scale, static_cast<bool>(e.residual), thread_count()},
      memory::desc({rows, in}, type, Tag::ab),
      memory::desc({rows, out}, type, Tag::ab),
      bias ? memory::desc({1, out}, memory::data_type::f32, Tag::ab) : memory::desc(),
      memory::desc({in, out}, type, Tag::ba),
      memory::desc({in, out}, type, Tag::any),
      [&](const memory::desc& weights, const dnnl::primitive_attr& attr, dnnl::primitive& made) {
#if DNNL_VERSION_MAJOR >= 3
        const dnnl::matmul::primitive_desc pd(engine(), recipe.source, weights, recipe.bias, recipe.target, attr);
#else
        const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(recipe.source, weights, recipe.bias, recipe.target),
                                              attr, engine());
#endif
        made = dnnl::matmul(pd);
        return pd.weights_desc();
      }};
  execute(recipe, x, w, bias, e, y);
}

void conv2d(const Tensor& x, const Weight& w, const Weight& bias, const Conv2d& c, const Epilogue& e, Tensor& y) {
  const int64_t kh = w->shape()[2], kw = w->shape()[3];
  // A 1x1 convolution of channels-last pixels is a linear layer.
  if (kh == 1 && kw == 1 && c.stride == 1 && c.top + c.left + c.bottom + c.right == 0) return linear(x, w, bias, e, y);
  convolve(x, w, kh, kw, bias, c, e, y);
}

}  // namespace gesso::cpu
