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
void encode(DType type, const float* x, int64_t rows, int64_t width, const float* importance, std::byte* bytes) {
  const int64_t row_bytes = *byte_size(type, width);
  const BlockType* block = find_block_type(type);
  parallel_for(rows, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(width, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      if (block)
        block->quantise(x + row * width, width, importance, reinterpret_cast<uint8_t*>(bytes + row * row_bytes));
      else
        convert_from_f32(type, x + row * width, bytes + row * row_bytes, width);
  });
}

void decode(DType type, const std::byte* bytes, int64_t begin, int64_t count, float* x) {
  parallel_for(count, 1 << 14,
               [&](int64_t from, int64_t to) { convert_range_to_f32(type, bytes, begin + from, x + from, to - from); });
}

/// Elements of a source from its `begin`-th on, as what they stand for.
void decode(const ConvertSource& source, const std::byte* bytes, int64_t begin, int64_t count, float* x) {
  if (!source.scaling) return decode(source.tensor->dtype, bytes, source.begin + begin, count, x);
  parallel_for(count, 1 << 14, [&](int64_t from, int64_t to) {
    source.scaling->to_f32(source.tensor->dtype, bytes, source.begin + begin + from, x + from, to - from);
  });
}

/// Those that are to be transposed, which have to be read whole.
std::vector<float> decode_turned(const ConvertSource& source, const std::byte* bytes) {
  std::vector<float> stored(static_cast<size_t>(source.count)), turned(stored.size());
  decode(source, bytes, 0, source.count, stored.data());
  const auto rows = static_cast<size_t>(source.turned[0]), columns = static_cast<size_t>(source.turned[1]);
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) turned[c * rows + r] = stored[r * columns + c];
  return turned;
}

/// The bytes of a source as they are stored.
std::span<const std::byte> stored_bytes(const ConvertSource& source, std::span<const std::byte> bytes) {
  const DType type = source.tensor->dtype;
  return bytes.subspan(static_cast<size_t>(*byte_size(type, source.begin)),
                       static_cast<size_t>(*byte_size(type, source.count)));
}

/// The values that make a tensor, in order, in chunks of whole rows: body(values, rows, width, first element).
template <typename Body>
void for_chunks(const ConvertItem& item, const Body& body) {
  const Shape& shape = item.to.shape;
  const int64_t total = shape.elements();
  if (total == 0) return;
  const int64_t width = shape.rank() == 0 ? 1 : shape[-1];
  const int64_t step = std::max<int64_t>(1, kChunk / width);
  std::vector<float> values;
  int64_t done = 0;
  for (const ConvertSource& source : item.sources) {
    const auto bytes = source.file->read(*source.tensor);
    if (source.turned.rank() > 0) {
      values = decode_turned(source, bytes.data());
      body(values, source.count / width, width, done);
    } else if (source.count % width != 0) {  // a vector of several sources: it is short
      const size_t before = done == 0 ? 0 : values.size();
      values.resize(before + static_cast<size_t>(source.count));
      decode(source, bytes.data(), 0, source.count, values.data() + before);
      if (done + source.count == total) body(values, 1, width, int64_t{0});
    } else {
      for (int64_t row = 0; row < source.count / width; row += step) {
        const int64_t rows = std::min(step, source.count / width - row);
        values.resize(static_cast<size_t>(rows * width));
        decode(source, bytes.data(), row * width, rows * width, values.data());
        body(values, rows, width, done + row * width);
      }
    }
    done += source.count;
    source.file->done(*source.tensor);
  }
}

}  // namespace

uint64_t ConvertSource::bytes() const {
  const int64_t all = tensor->shape.elements();
  const double part = all > 0 ? static_cast<double>(count) / static_cast<double>(all) : 0;
  return static_cast<uint64_t>(static_cast<double>(tensor->bytes) * part);
}

uint64_t ConvertItem::bytes() const {
  uint64_t sum = 0;
  for (const ConvertSource& source : sources) sum += source.bytes();
  return sum;
}

bool ConvertItem::is_copied() const {
  return std::ranges::all_of(sources, [&](const ConvertSource& s) {
    const int64_t block = block_elements(s.tensor->dtype);
    return s.tensor->dtype == to.dtype && !s.scaling && s.turned.rank() == 0 && s.begin % block == 0 &&
           s.count % block == 0;
  });
}

void write_converted(const ConvertItem& item, TensorWriter& writer) {
  if (item.is_copied()) {
    for (const ConvertSource& source : item.sources) {
      writer.write(stored_bytes(source, source.file->read(*source.tensor)));
      source.file->done(*source.tensor);
    }
    return;
  }
  std::vector<std::byte> encoded;
  for_chunks(item, [&](const std::vector<float>& values, int64_t rows, int64_t width, int64_t) {
    if (!std::ranges::all_of(values, [&](float v) { return holds(item.to.dtype, v); }))
      fail(ErrorCode::kNumeric,
           "tensor {} of {} has values that {} cannot hold: infinite, NaN or too large; keep its type with a "
           "tensor_type_rule",
           printable(item.sources.front().tensor->name), quoted(item.sources.front().file->path()),
           to_string(item.to.dtype));
    encoded.resize(static_cast<size_t>(*byte_size(item.to.dtype, rows * width)));
    encode(item.to.dtype, values.data(), rows, width, item.importance.empty() ? nullptr : item.importance.data(),
           encoded.data());
    writer.write(encoded);
  });
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
  const auto target = written.read(tensor);
  if (item.is_copied()) {
    size_t at = 0;
    for (const ConvertSource& source : item.sources) {
      const auto bytes = stored_bytes(source, source.file->read(*source.tensor));
      if (at + bytes.size() > target.size() || !std::ranges::equal(bytes, target.subspan(at, bytes.size())))
        fail(ErrorCode::kIo, "the bytes of tensor {} are not those that were written; is the disk sound?",
             printable(item.to.name));
      at += bytes.size();
      source.file->done(*source.tensor);
    }
  } else {
    std::vector<float> after;
    for_chunks(item, [&](const std::vector<float>& before, int64_t rows, int64_t width, int64_t first) {
      after.resize(before.size());
      decode(item.to.dtype, target.data(), first, rows * width, after.data());
      for (size_t i = 0; i < before.size(); ++i)
        if (std::isfinite(before[i]) && !std::isfinite(after[i]))
          fail(ErrorCode::kNumeric, "tensor {} has values that {} cannot hold; keep its type with a tensor_type_rule",
               printable(item.to.name), to_string(item.to.dtype));
      deviation.add(before.data(), after.data(), rows * width);
    });
  }
  written.done(tensor);
}

}  // namespace gesso
