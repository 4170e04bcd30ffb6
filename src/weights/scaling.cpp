#include "weights/scaling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "io/printable.h"

namespace gesso {
namespace {

constexpr int64_t kLargestGroup = 4096;
constexpr int64_t kBlock = 128;  ///< of DeepSeek's grids, whose last row and column of blocks may be cut off

int64_t blocks_of(int64_t extent, int64_t block) {
  return (extent + block - 1) / block;
}

/// How ComfyUI calls the ways of rounding, and the type of the stored numbers.
struct Format {
  std::string_view name;
  DType dtype;
};
constexpr Format kFormats[] = {
    {"float8_e4m3fn", DType::kF8E4M3},
    {"float8_e5m2", DType::kF8E5M2},
    {"int8_tensorwise", DType::kI8},
};

/// The size of the rotated groups that ComfyUI's JSON states; 1 for none.
int64_t read_format(const TensorFile& file, const TensorInfo& weight, std::string_view text) {
  const auto bad = [&](std::string_view what) {
    fail(ErrorCode::kBadFile, "the quantisation of tensor {} of {}, {}: {}", printable(weight.name),
         quoted(file.path()), printable(text), what);
  };
  const auto json = parse_json(text);
  if (!json || !json->is_object() || !json->contains("format") || !(*json)["format"].is_string())
    bad("wanted JSON with a \"format\"");
  const auto name = (*json)["format"].get<std::string>();
  const auto* known = std::ranges::find(kFormats, name, &Format::name);
  if (known == std::end(kFormats))
    fail(ErrorCode::kUnsupported,
         "tensor {} of {}: weights in the format {} cannot be read by this version; take the model in float8, int8, "
         "f16 or GGUF",
         printable(weight.name), quoted(file.path()), printable(name));
  if (known->dtype != weight.dtype) bad(fmt::format("it says {}, but the weight is {}", name, to_string(weight.dtype)));
  const Json rotated = json->value("convrot", Json(false)), size = json->value("convrot_groupsize", Json(256));
  if (!rotated.is_boolean()) bad("\"convrot\" is neither true nor false");
  if (!rotated.get<bool>()) return 1;
  const int64_t group = size.is_number_integer() ? size.get<int64_t>() : 0;
  if (group < 4 || group > kLargestGroup || !std::has_single_bit(static_cast<uint64_t>(group)) ||
      std::countr_zero(static_cast<uint64_t>(group)) % 2 != 0)
    bad(fmt::format("\"convrot_groupsize\" is {}, not a power of 4 from 4 to {}", shown(size), kLargestGroup));
  if (weight.shape.rank() != 2 || weight.shape[1] % group != 0)
    bad(fmt::format("rows of a weight {} do not divide into groups of {}", to_string(weight.shape), group));
  return group;
}

/// Multiplies by the Hadamard matrix, digit by digit of the index in base 4.
void rotate(float* x, int64_t group) {
  for (int64_t step = 1; step < group; step *= 4)
    for (int64_t begin = 0; begin < group; begin += 4 * step)
      for (int64_t i = begin; i < begin + step; ++i) {
        float *a = x + i, *b = a + step, *c = b + step, *d = c + step;
        const float half = (*a + *b + *c + *d) / 2, last = *a;
        *a = half - *d;
        *d = half - last;
        const float second = *b;
        *b = half - *c;
        *c = half - second;
      }
}

}  // namespace

std::shared_ptr<const Scaling> Scaling::read(const TensorFile& file, size_t weight_index,
                                             std::optional<size_t> scale_index, std::string_view format) {
  const TensorInfo& weight = file.tensors()[weight_index];
  auto result = std::make_shared<Scaling>();
  const int64_t count = weight.shape.elements(), rows = weight.shape.rank() > 0 ? weight.shape[0] : 1;
  result->width_ = std::max<int64_t>(1, rows > 0 ? count / rows : 1);
  if (!format.empty()) result->group_ = read_format(file, weight, format);
  if (!scale_index)
    fail(ErrorCode::kBadFile, "tensor {} of {} lacks its scale", printable(weight.name), quoted(file.path()));

  const TensorInfo& scale = file.tensors()[*scale_index];
  const int64_t scales = scale.shape.elements();
  if (scales == 1) {
    result->block_rows_ = std::max<int64_t>(1, rows);
    result->block_width_ = result->width_;
  } else if (scales == rows && scale.shape[0] == rows) {
    result->block_width_ = result->width_;
  } else if (scale.shape.rank() == 2 && weight.shape.rank() == 2 && scales > 0) {
    const auto block = [](int64_t extent, int64_t blocks) {
      return blocks_of(extent, kBlock) == blocks ? kBlock : extent % blocks == 0 ? extent / blocks : 0;
    };
    result->block_rows_ = block(rows, scale.shape[0]);
    result->block_width_ = block(result->width_, scale.shape[1]);
    result->blocks_in_row_ = scale.shape[1];
  } else {
    result->block_rows_ = 0;
  }
  if (!is_float(scale.dtype) || result->block_rows_ == 0 || result->block_width_ == 0)
    fail(ErrorCode::kBadFile,
         "tensor {} of {}: wanted one scale for the tensor {}, one for each of its rows, or one for each block of 128 "
         "by 128, found {} {}",
         printable(scale.name), quoted(file.path()), to_string(weight.shape), to_string(scale.dtype),
         to_string(scale.shape));
  result->scales_.resize(static_cast<size_t>(scales));
  convert_to_f32(scale.dtype, file.read(scale).data(), result->scales_.data(), scales);
  if (!std::ranges::all_of(result->scales_, [](float s) { return std::isfinite(s); }))
    fail(ErrorCode::kBadFile, "tensor {} of {}: a scale is not finite", printable(scale.name), quoted(file.path()));
  return result;
}

void Scaling::multiply(float* values, int64_t begin, int64_t count) const {
  while (count > 0) {
    const int64_t row = begin / width_, column = begin % width_, inside = column % block_width_;
    const int64_t run = std::min({count, width_ - column, block_width_ - inside});
    const float scale = scales_[static_cast<size_t>(row / block_rows_ * blocks_in_row_ + column / block_width_)];
    for (int64_t i = 0; i < run; ++i) values[i] *= scale;
    values += run;
    begin += run;
    count -= run;
  }
}

void Scaling::to_f32(DType from, const std::byte* source, int64_t begin, float* target, int64_t count) const {
  if (group_ == 1) {
    convert_range_to_f32(from, source, begin, target, count);
    multiply(target, begin, count);
    return;
  }
  float group[kLargestGroup];
  while (count > 0) {
    const int64_t inside = begin % group_, n = std::min(count, group_ - inside);
    convert_range_to_f32(from, source, begin - inside, group, group_);
    multiply(group, begin - inside, group_);
    rotate(group, group_);
    std::copy_n(group + inside, n, target);
    target += n;
    begin += n;
    count -= n;
  }
}

}  // namespace gesso
