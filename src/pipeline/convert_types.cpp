// Which type a tensor is written as.
#include <algorithm>

#include "base/error.h"
#include "io/printable.h"
#include "pipeline/convert.h"
#include "tensor/quant/block_type.h"

namespace gesso {
namespace {

/// The type with blocks of 32 that stands in where rows do not fit; the same as llama.cpp's.
struct StandIn {
  DType wanted, instead;
};
constexpr StandIn kStandIns[] = {
    {DType::kQ2_K, DType::kIQ4_NL},   {DType::kQ3_K, DType::kIQ4_NL},    {DType::kQ4_K, DType::kQ5_0},
    {DType::kQ5_K, DType::kQ5_1},     {DType::kQ6_K, DType::kQ8_0},      {DType::kIQ1_S, DType::kIQ4_NL},
    {DType::kIQ1_M, DType::kIQ4_NL},  {DType::kIQ2_XXS, DType::kIQ4_NL}, {DType::kIQ2_XS, DType::kIQ4_NL},
    {DType::kIQ2_S, DType::kIQ4_NL},  {DType::kIQ3_XXS, DType::kIQ4_NL}, {DType::kIQ3_S, DType::kIQ4_NL},
    {DType::kIQ4_XS, DType::kIQ4_NL}, {DType::kTQ1_0, DType::kQ4_0},     {DType::kTQ2_0, DType::kQ4_0},
    {DType::kNVFP4, DType::kMXFP4},   {DType::kQ1_0, DType::kIQ4_NL},
};

bool to_gguf(const ConvertRequest& request) {
  return request.output.extension() == ".gguf";
}

/// What was wanted, or what stands in where its blocks do not fit rows of `row` elements.
ChosenType fitting(DType wanted, DType stored, int64_t row) {
  const auto fits = [row](DType type) { return row % block_elements(type) == 0; };
  if (fits(wanted)) return {wanted, ""};
  ChosenType chosen{stored == DType::kBF16 ? stored : DType::kF16,
                    fmt::format("rows of {} do not fit blocks of {}", row, to_string(wanted))};
  for (const StandIn& other : kStandIns)
    if (other.wanted == wanted && fits(other.instead)) chosen.type = other.instead;
  return chosen;
}

}  // namespace

ChosenType choose_type(const ConvertRequest& request, const TensorInfo& tensor, bool sensitive) {
  const DType stored = tensor.dtype;
  const auto rule = std::find_if(request.rules.rbegin(), request.rules.rend(),
                                 [&](const TypeRule& r) { return is_float(stored) && r.finds(tensor.name); });
  ChosenType chosen{stored, ""};
  if (rule != request.rules.rend()) {
    chosen.type = rule->type;
  } else if (request.type && is_float(stored)) {
    const bool blocks = is_block(*request.type);
    if (!blocks || (tensor.shape.rank() >= 2 && !sensitive)) chosen.type = *request.type;
    if (blocks && tensor.shape.rank() >= 2 && sensitive) chosen.reason = "sensitive layers keep their type";
  }
  // The stored type is looked at too: a file that stores shapes may have blocks over the ends of rows.
  if (const auto fitted = fitting(chosen.type, stored, tensor.shape.rank() == 0 ? 1 : tensor.shape[-1]);
      fitted.type != chosen.type)
    chosen = fitted;
  if (!to_gguf(request) && is_block(chosen.type)) {
    chosen = {DType::kF16, fmt::format("safetensors cannot hold {}", to_string(chosen.type))};
  } else if (to_gguf(request) && !ggml_type_of(chosen.type)) {
    if (!is_float(chosen.type))
      fail(ErrorCode::kUnsupported, "tensor {} is {}, which GGUF cannot hold; write a safetensors file",
           printable(tensor.name), to_string(chosen.type));
    chosen = {DType::kF16, fmt::format("GGUF cannot hold {}", to_string(chosen.type))};
  }
  return chosen;
}

}  // namespace gesso
