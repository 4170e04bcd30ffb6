#pragma once
#include <string>

#include "pipeline/engine.h"
#include "tensor/dtype.h"

namespace gesso {

/// Runs `compute` in the stage's type and, should that give NaN or infinity, in f32; `dtype` then stays f32. `finite`
/// judges the result. Throws kNumeric where f32 fails too.
template <typename Compute, typename Finite>
auto guarded(const EventSink& sink, const char* stage, DType& dtype, const Compute& compute, const Finite& finite) {
  auto result = compute(dtype);
  if (finite(result)) return result;
  if (dtype != DType::kF32) {
    sink({.kind = Event::Kind::kMessage,
          .text = std::string("the ") + stage + " stage gave NaN or infinity in bf16; computing it again in f32"});
    dtype = DType::kF32;
    result = compute(dtype);
    if (finite(result)) return result;
  }
  fail(ErrorCode::kNumeric,
       "the {} stage gave NaN or infinity, in f32 too: the model file is damaged, or of another kind than it seems",
       stage);
}

}  // namespace gesso
