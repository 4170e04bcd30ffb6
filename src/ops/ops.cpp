#include "ops/ops.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "device/device.h"

namespace gesso {
namespace {

void expect(bool fits, const char* op, const Tensor& x, const Shape& other) {
  if (!fits) fail(ErrorCode::kInternal, "[{}] {} does not fit {}", op, to_string(x.shape()), to_string(other));
}

Shape with_last(Shape shape, int64_t extent) {
  shape.set(-1, extent);
  return shape;
}

Tensor like(const Tensor& x) {
  return x.device().empty(x.shape(), x.dtype());
}

int64_t rows(const Tensor& x) {
  return x.dim(-1) == 0 ? 0 : x.elements() / x.dim(-1);
}

/// Lets the device of `x` compute.
template <typename F>
void run(const Tensor& x, OpCost cost, const F& compute) {
  cost.x = &x;
  x.device().run(cost, compute);
}

void expect_residual(const char* op, const Epilogue& e, const Tensor& y) {
  if (e.residual) expect(e.residual.shape() == y.shape() && e.residual.dtype() == y.dtype(), op, e.residual, y.shape());
}

}  // namespace

Tensor linear(const Tensor& x, const Weight& w, const Weight& bias, const Epilogue& e) {
  const Shape& ws = w->shape();
  expect(ws.rank() >= 2 && x.dim(-1) == ws[1] && ws.elements() == ws[0] * ws[1], "linear", x, ws);
  Tensor y = x.device().empty(with_last(x.shape(), ws[0]), x.dtype());
  expect_residual("linear", e, y);
  const std::array<Weight, 2> used{w, bias};
  const OpCost cost{"linear", 2 * rows(x) * ws[0] * ws[1], x.bytes() + y.bytes(), used};
  run(x, cost, [&](const Kernels& k) { k.linear(x, w, bias, e, y); });
  return y;
}

Tensor pad_circular(const Tensor& x, int64_t top, int64_t left, int64_t bottom, int64_t right) {
  expect(x.shape().rank() == 4 && x.dim(1) > 0 && x.dim(2) > 0 && std::min({top, left, bottom, right}) >= 0,
         "pad_circular", x, {top, left, bottom, right});
  Tensor y = x.device().empty({x.dim(0), x.dim(1) + top + bottom, x.dim(2) + left + right, x.dim(3)}, x.dtype());
  const OpCost cost{"pad_circular", 0, x.bytes() + y.bytes()};
  x.device().run(cost, [&](const Kernels& k) { k.pad_circular(x, top, left, y); });
  return y;
}

Tensor conv2d(const Tensor& x, const Weight& w, const Weight& bias, const Conv2d& c, const Epilogue& e) {
  const Wrap wrap = x.device().wrap();
  if ((wrap.x && c.left + c.right > 0) || (wrap.y && c.top + c.bottom > 0)) {
    Conv2d rest = c;
    if (wrap.x) rest.left = rest.right = 0;
    if (wrap.y) rest.top = rest.bottom = 0;
    const Tensor padded =
        pad_circular(x, c.top - rest.top, c.left - rest.left, c.bottom - rest.bottom, c.right - rest.right);
    return conv2d(padded, w, bias, rest, e);
  }
  const Shape& ws = w->shape();
  expect(x.shape().rank() == 4 && ws.rank() == 4 && x.dim(3) == ws[1], "conv2d", x, ws);
  const int64_t oh = (x.dim(1) + c.top + c.bottom - ws[2]) / c.stride + 1;
  const int64_t ow = (x.dim(2) + c.left + c.right - ws[3]) / c.stride + 1;
  expect(x.dim(1) + c.top + c.bottom >= ws[2] && x.dim(2) + c.left + c.right >= ws[3], "conv2d", x, ws);
  Tensor y = x.device().empty({x.dim(0), oh, ow, ws[0]}, x.dtype());
  expect_residual("conv2d", e, y);
  const std::array<Weight, 2> used{w, bias};
  const OpCost cost{"conv2d", 2 * y.elements() * ws[1] * ws[2] * ws[3], x.bytes() + y.bytes(), used};
  run(x, cost, [&](const Kernels& k) { k.conv2d(x, w, bias, c, e, y); });
  return y;
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Attention& a, const Tensor& bias) {
  expect(q.shape().rank() == 3 && k.shape() == v.shape() && k.dim(0) == q.dim(0) && k.dim(2) == q.dim(2) &&
             q.dim(2) % a.heads == 0 && k.dim(1) > 0 && k.dtype() == q.dtype() && v.dtype() == q.dtype(),
         "attention", q, k.shape());
  if (bias)
    expect(bias.dtype() == DType::kF32 && bias.shape().rank() == 3 && (bias.dim(0) == 1 || bias.dim(0) == a.heads) &&
               bias.dim(1) == k.dim(1) && bias.dim(2) == q.dim(1),
           "attention", q, bias.shape());
  Tensor y = like(q);
  const OpCost cost{"attention", 4 * q.dim(0) * q.dim(1) * k.dim(1) * q.dim(2),
                    q.bytes() + k.bytes() + v.bytes() + y.bytes()};
  run(q, cost, [&](const Kernels& table) { table.attention(q, k, v, bias, a, y); });
  return y;
}

Tensor group_norm(const Tensor& x, const Weight& scale, const Weight& bias, const GroupNorm& g, const Tensor& add) {
  expect(scale->shape().elements() == x.dim(-1) && bias->shape().elements() == x.dim(-1) && g.groups > 0 &&
             x.dim(-1) % g.groups == 0,
         "group_norm", x, scale->shape());
  if (add) expect(add.elements() == x.dim(0) * x.dim(-1) && add.dtype() == x.dtype(), "group_norm", x, add.shape());
  Tensor y = like(x);
  const std::array<Weight, 2> used{scale, bias};
  run(x, {"group_norm", 8 * x.elements(), x.bytes() + y.bytes(), used},
      [&](const Kernels& k) { k.group_norm(x, add, parameter(x.device(), scale), parameter(x.device(), bias), g, y); });
  return y;
}

Tensor layer_norm(const Tensor& x, const Weight& scale, const Weight& bias, float eps) {
  expect(scale->shape().elements() == x.dim(-1) && bias->shape().elements() == x.dim(-1), "layer_norm", x,
         scale->shape());
  Tensor y = like(x);
  const std::array<Weight, 2> used{scale, bias};
  run(x, {"layer_norm", 8 * x.elements(), x.bytes() + y.bytes(), used},
      [&](const Kernels& k) { k.layer_norm(x, parameter(x.device(), scale), parameter(x.device(), bias), eps, y); });
  return y;
}

Tensor modulated_norm(const Tensor& x, const Tensor& shift, const Tensor& scale, float eps) {
  const Shape per_image{x.dim(0), x.dim(-1)};
  expect(shift.shape() == per_image && scale.shape() == per_image && shift.dtype() == x.dtype() &&
             scale.dtype() == x.dtype(),
         "modulated_norm", x, scale.shape());
  Tensor y = like(x);
  run(x, {"modulated_norm", 8 * x.elements(), x.bytes() + y.bytes()},
      [&](const Kernels& k) { k.modulated_norm(x, shift, scale, eps, y); });
  return y;
}

Tensor rms_norm(const Tensor& x, const Weight& scale, float eps) {
  expect(scale->shape().elements() == x.dim(-1), "rms_norm", x, scale->shape());
  Tensor y = like(x);
  const std::array<Weight, 1> used{scale};
  run(x, {"rms_norm", 4 * x.elements(), x.bytes() + y.bytes(), used},
      [&](const Kernels& k) { k.rms_norm(x, parameter(x.device(), scale), eps, y); });
  return y;
}

Tensor rope(const Tensor& x, const Tensor& table) {
  expect(x.shape().rank() == 3 && table.shape().rank() == 3 && table.dtype() == DType::kF32 &&
             table.dim(0) == x.dim(1) && table.dim(1) == 2 && table.dim(2) > 0 && table.dim(2) % 2 == 0 &&
             x.dim(2) % table.dim(2) == 0,
         "rope", x, table.shape());
  Tensor y = like(x);
  run(x, {"rope", 3 * x.elements(), x.bytes() + y.bytes()}, [&](const Kernels& k) { k.rope(x, table, y); });
  return y;
}

Tensor activate(const Tensor& x, Activation a) {
  Tensor y = like(x);
  run(x, {"activate", 8 * x.elements(), x.bytes() + y.bytes()}, [&](const Kernels& k) { k.activate(x, a, y); });
  return y;
}

Tensor add(const Tensor& a, const Tensor& b) {
  expect(a.shape() == b.shape() && a.dtype() == b.dtype(), "add", a, b.shape());
  Tensor y = like(a);
  run(a, {"add", a.elements(), 3 * a.bytes()}, [&](const Kernels& k) { k.add(a, b, y); });
  return y;
}

Tensor multiply(const Tensor& a, const Tensor& b) {
  expect(a.shape() == b.shape() && a.dtype() == b.dtype(), "multiply", a, b.shape());
  Tensor y = like(a);
  run(a, {"multiply", a.elements(), 3 * a.bytes()}, [&](const Kernels& k) { k.multiply(a, b, y); });
  return y;
}

Tensor scaled_add(const Tensor& x, float scale, const Tensor& residual) {
  expect(residual.shape() == x.shape() && residual.dtype() == x.dtype(), "scaled_add", x, residual.shape());
  Tensor y = like(x);
  const OpCost cost{"scaled_add", 2 * x.elements(), 3 * x.bytes()};
  run(x, cost, [&](const Kernels& k) { k.scaled_add(x, scale, residual, y); });
  return y;
}

Tensor prelu(const Tensor& x, const Weight& slope) {
  expect(slope->shape().elements() == x.dim(-1), "prelu", x, slope->shape());
  Tensor y = like(x);
  const std::array<Weight, 1> used{slope};
  const OpCost cost{"prelu", 2 * x.elements(), x.bytes() + y.bytes(), used};
  run(x, cost, [&](const Kernels& k) { k.prelu(x, parameter(x.device(), slope), y); });
  return y;
}

Tensor gated_add(const Tensor& x, const Tensor& gate, const Tensor& residual) {
  expect(residual.shape() == x.shape() && gate.shape() == Shape{x.dim(0), x.dim(-1)} && residual.dtype() == x.dtype() &&
             gate.dtype() == x.dtype(),
         "gated_add", x, gate.shape());
  Tensor y = like(x);
  run(x, {"gated_add", 2 * x.elements(), 3 * x.bytes()}, [&](const Kernels& k) { k.gated_add(x, gate, residual, y); });
  return y;
}

Tensor geglu(const Tensor& x) {
  expect(x.dim(-1) % 2 == 0, "geglu", x, x.shape());
  Tensor y = x.device().empty(with_last(x.shape(), x.dim(-1) / 2), x.dtype());
  run(x, {"geglu", 8 * y.elements(), x.bytes() + y.bytes()}, [&](const Kernels& k) { k.geglu(x, y); });
  return y;
}

Tensor concat(const Tensor& a, const Tensor& b) {
  expect(with_last(a.shape(), 0) == with_last(b.shape(), 0) && a.dtype() == b.dtype(), "concat", a, b.shape());
  Tensor y = a.device().empty(with_last(a.shape(), a.dim(-1) + b.dim(-1)), a.dtype());
  run(a, {"concat", 0, 2 * y.bytes()}, [&](const Kernels& k) { k.concat(a, b, y); });
  return y;
}

Tensor columns(const Tensor& x, int64_t begin, int64_t end) {
  expect(begin >= 0 && begin <= end && end <= x.dim(-1), "columns", x, {begin, end});
  const Shape shape = with_last(x.shape(), end - begin);
  if (rows(x) == 1) return x.reshape({x.elements()}).slice(begin, end).reshape(shape);  // as it lies
  Tensor y = x.device().empty(shape, x.dtype());
  run(x, {"columns", 0, 2 * y.bytes()}, [&](const Kernels& k) { k.columns(x, begin, y); });
  return y;
}

Tensor patchify(const Tensor& x, const Patch& patch) {
  expect(x.shape().rank() == 4 && patch.size > 0 && x.dim(1) % patch.size == 0 && x.dim(2) % patch.size == 0,
         "patchify", x, {patch.size, patch.size});
  const int64_t area = int64_t{patch.size} * patch.size;
  Tensor y = x.device().empty({x.dim(0), x.dim(1) / patch.size, x.dim(2) / patch.size, x.dim(3) * area}, x.dtype());
  run(x, {"patchify", 0, 2 * x.bytes()}, [&](const Kernels& k) { k.patchify(x, patch, y); });
  return y;
}

Tensor unpatchify(const Tensor& x, const Patch& patch) {
  const int64_t area = int64_t{patch.size} * patch.size;
  expect(x.shape().rank() == 4 && patch.size > 0 && x.dim(3) % area == 0, "unpatchify", x, {patch.size, patch.size});
  Tensor y = x.device().empty({x.dim(0), x.dim(1) * patch.size, x.dim(2) * patch.size, x.dim(3) / area}, x.dtype());
  run(x, {"unpatchify", 0, 2 * x.bytes()}, [&](const Kernels& k) { k.unpatchify(x, patch, y); });
  return y;
}

Tensor upsample_nearest(const Tensor& x, int factor, int64_t height, int64_t width) {
  expect(x.shape().rank() == 4 && factor > 0 && (height + factor - 1) / factor == x.dim(1) &&
             (width + factor - 1) / factor == x.dim(2),
         "upsample_nearest", x, {height, width});
  Tensor y = x.device().empty({x.dim(0), height, width, x.dim(3)}, x.dtype());
  const OpCost cost{"upsample_nearest", 0, x.bytes() + y.bytes()};
  run(x, cost, [&](const Kernels& k) { k.upsample_nearest(x, factor, y); });
  return y;
}

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor y = x.device().empty(x.shape(), dtype);
  run(x, {"cast", 0, x.bytes() + y.bytes()}, [&](const Kernels& k) { k.cast(x, y); });
  return y;
}

Tensor to_channels_last(const Tensor& x) {
  expect(x.shape().rank() == 4, "to_channels_last", x, x.shape());
  Tensor y = x.device().empty({x.dim(0), x.dim(2), x.dim(3), x.dim(1)}, x.dtype());
  run(x, {"to_channels_last", 0, 2 * x.bytes()}, [&](const Kernels& k) { k.to_channels_last(x, y); });
  return y;
}

Tensor to_channels_first(const Tensor& x) {
  expect(x.shape().rank() == 4, "to_channels_first", x, x.shape());
  Tensor y = x.device().empty({x.dim(0), x.dim(3), x.dim(1), x.dim(2)}, x.dtype());
  run(x, {"to_channels_first", 0, 2 * x.bytes()}, [&](const Kernels& k) { k.to_channels_first(x, y); });
  return y;
}

Tensor embedding(Device& device, std::span<const int32_t> ids, const Weight& table, DType dtype) {
  for (int32_t id : ids)
    if (id < 0 || id >= table->shape()[0])
      fail(ErrorCode::kUsage, "token {} is outside the vocabulary of {} entries of {}", id, table->shape()[0],
           table->name());
  Tensor y = device.empty({static_cast<int64_t>(ids.size()), table->shape()[1]}, dtype);
  // The table is not booked as a weight: only the rows that are asked for are ever read.
  device.run({"embedding", 0, 2 * y.bytes()}, [&](const Kernels&) { table->read_rows(ids, y); });
  return y;
}

bool all_finite(const Tensor& x) {
  bool finite = true;
  run(x, {"all_finite", 0, x.bytes()}, [&](const Kernels& k) { finite = k.all_finite(x); });
  return finite;
}

Tensor gather_rows(const Tensor& x, std::span<const int64_t> picked) {
  expect(x.shape().rank() == 2, "gather_rows", x, x.shape());
  Tensor y = x.device().empty({static_cast<int64_t>(picked.size()), x.dim(1)}, x.dtype());
  const int64_t row = x.dim(1) * size_of(x.dtype());
  run(x, {"gather_rows", 0, 2 * y.bytes()}, [&](const Kernels&) {
    for (size_t i = 0; i < picked.size(); ++i)
      std::memcpy(y.data<char>() + static_cast<int64_t>(i) * row, x.data<char>() + picked[i] * row,
                  static_cast<size_t>(row));
  });
  return y;
}

std::vector<float> to_values(const Tensor& x) {
  std::vector<float> values(static_cast<size_t>(x.elements()));
  if (x.raw()) convert_to_f32(x.dtype(), x.raw(), values.data(), x.elements());
  return values;
}

Tensor from_values(Device& device, std::span<const float> values, const Shape& shape) {
  Tensor y = device.empty(shape, DType::kF32);
  expect(static_cast<int64_t>(values.size()) == y.elements(), "from_values", y, {static_cast<int64_t>(values.size())});
  if (y.raw()) std::memcpy(y.raw(), values.data(), values.size_bytes());
  return y;
}

}  // namespace gesso
