#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/error.h"
#include "base/files.h"
#include "base/threads.h"
#include "io/printable.h"
#include "pipeline/convert_work.h"
#include "tensor/quant/block_type.h"

namespace gesso {
namespace {

/// Values turned at a time, in whole rows: 16 MiB as f32.
constexpr int64_t kChunk = int64_t{1} << 22;

/// Whether the type can hold a value without making it infinite; scales cannot be found for what is not finite.
bool holds(DType type, float v) {
  if (type == DType::kF16) return std::fabs(v) < 65520.f;  // which rounds to infinity
  if (type == DType::kBF16) return !std::isfinite(v) || std::fabs(v) < 0x1.ffp127f;
  return !is_block(type) || std::isfinite(v);
}

/// Rows of f32 values to the bytes of a type.
void encode(DType type, const float* x, int64_t rows, int64_t width, std::byte* bytes) {
  const int64_t row_bytes = *byte_size(type, width);
  const BlockType* block = find_block_type(type);
  parallel_for(rows, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(width, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      if (block)
        block->quantise(x + row * width, width, nullptr, reinterpret_cast<uint8_t*>(bytes + row * row_bytes));
      else
        convert_from_f32(type, x + row * width, bytes + row * row_bytes, width);
  });
}

void decode(DType type, const std::byte* bytes, int64_t begin, int64_t count, float* x) {
  parallel_for(count, 1 << 14,
               [&](int64_t from, int64_t to) { convert_range_to_f32(type, bytes, begin + from, x + from, to - from); });
}

/// The values of a tensor that is to be written, with its scales applied.
void decode(const ConvertItem& item, const std::byte* bytes, int64_t begin, int64_t count, float* x) {
  if (!item.scaling) return decode(item.from->dtype, bytes, begin, count, x);
  parallel_for(count, 1 << 14, [&](int64_t from, int64_t to) {
    item.scaling->to_f32(item.from->dtype, bytes, begin + from, x + from, to - from);
  });
}

/// Whether its bytes are what is written.
bool is_copied(const ConvertItem& item) {
  return item.from->dtype == item.to.dtype && !item.scaling;
}

/// Chunks of whole rows: body(first element, rows, width).
template <typename Body>
void for_chunks(const Shape& shape, const Body& body) {
  const int64_t count = shape.elements(), width = shape.rank() == 0 ? 1 : shape[-1];
  if (count == 0) return;
  const int64_t step = std::max<int64_t>(1, kChunk / width);
  for (int64_t row = 0; row < count / width; row += step) body(row * width, std::min(step, count / width - row), width);
}

}  // namespace

void write_converted(const ConvertItem& item, TensorWriter& writer) {
  const auto bytes = item.file->read(*item.from);
  if (is_copied(item)) {
    writer.write(bytes);
  } else {
    std::vector<float> values;
    std::vector<std::byte> encoded;
    for_chunks(item.to.shape, [&](int64_t first, int64_t rows, int64_t width) {
      values.resize(static_cast<size_t>(rows * width));
      decode(item, bytes.data(), first, rows * width, values.data());
      if (!std::ranges::all_of(values, [&](float v) { return holds(item.to.dtype, v); }))
        fail(ErrorCode::kNumeric,
             "tensor {} of {} has values that {} cannot hold: infinite, NaN or too large; keep its type with a "
             "tensor_type_rule",
             printable(item.from->name), quoted(item.file->path()), to_string(item.to.dtype));
      encoded.resize(static_cast<size_t>(*byte_size(item.to.dtype, rows * width)));
      encode(item.to.dtype, values.data(), rows, width, encoded.data());
      writer.write(encoded);
    });
  }
  item.file->done(*item.from);
}

void Deviation::add(const float* a, const float* b, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double x = a[i], y = b[i];
    squares_ += (x - y) * (x - y);
    largest_ = std::max(largest_, std::fabs(x - y));
    aa_ += x * x;
    bb_ += y * y;
    ab_ += x * y;
  }
  count_ += static_cast<double>(n);
}

double Deviation::rmse() const {
  return count_ > 0 ? std::sqrt(squares_ / count_) : 0;
}

double Deviation::cosine() const {
  return aa_ > 0 && bb_ > 0 ? ab_ / std::sqrt(aa_ * bb_) : aa_ == bb_ ? 1 : 0;
}

void measure_converted(const ConvertItem& item, const TensorFile& written, const TensorInfo& tensor,
                       Deviation& deviation) {
  const auto source = item.file->read(*item.from), target = written.read(tensor);
  if (is_copied(item)) {
    if (!std::ranges::equal(source, target))
      fail(ErrorCode::kIo, "the bytes of tensor {} are not those that were written; is the disk sound?",
           printable(item.to.name));
  } else {
    std::vector<float> before, after;
    for_chunks(item.to.shape, [&](int64_t first, int64_t rows, int64_t width) {
      before.resize(static_cast<size_t>(rows * width));
      after.resize(before.size());
      decode(item, source.data(), first, rows * width, before.data());
      decode(item.to.dtype, target.data(), first, rows * width, after.data());
      for (size_t i = 0; i < before.size(); ++i)
        if (std::isfinite(before[i]) && !std::isfinite(after[i]))
          fail(ErrorCode::kNumeric, "tensor {} has values that {} cannot hold; keep its type with a tensor_type_rule",
               printable(item.to.name), to_string(item.to.dtype));
      deviation.add(before.data(), after.data(), rows * width);
    });
  }
  item.file->done(*item.from);
  written.done(tensor);
}

}  // namespace gesso
