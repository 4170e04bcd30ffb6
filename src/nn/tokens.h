#pragma once
#include "ops/ops.h"

/// Small moves of tokens [n, t, c] and vectors [n, c] that transformers share.
namespace gesso::nn {

/// a [n, ta, c], b [n, tb, c] -> [n, ta + tb, c]
inline Tensor join_tokens(const Tensor& a, const Tensor& b) {
  const int64_t n = a.dim(0), c = a.dim(2);
  return concat(a.reshape({n, a.dim(1) * c}), b.reshape({n, b.dim(1) * c})).reshape({n, a.dim(1) + b.dim(1), c});
}

/// Tokens [begin, end).
inline Tensor pick_tokens(const Tensor& x, int64_t begin, int64_t end) {
  const int64_t n = x.dim(0), c = x.dim(2);
  return columns(x.reshape({n, x.dim(1) * c}), begin * c, end * c).reshape({n, end - begin, c});
}

/// The vectors of one modulation: x [n, parts c] cut into [n, c] each.
struct Chunks {
  Chunks(const Tensor& vectors, int64_t width) : x(vectors), c(width) {}
  Tensor operator[](int64_t part) const { return columns(x, part * c, (part + 1) * c); }
  Tensor x;
  int64_t c;
};

}  // namespace gesso::nn
