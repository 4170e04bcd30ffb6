#include "weights/file_weight.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/threads.h"
#include "device/device.h"

namespace gesso {
namespace {

constexpr int64_t kGrain = 1 << 16;

/// Converts a run of stored values into `target` of type `to`, block by block through f32.
void convert(DType from, const std::byte* source, DType to, std::byte* target, int64_t count) {
  if (from == to) {
    std::memcpy(target, source, static_cast<size_t>(count * size_of(to)));
    return;
  }
  constexpr int64_t kBlock = 1024;
  float block[kBlock];
  for (int64_t done = 0; done < count; done += kBlock) {
    const int64_t n = std::min(kBlock, count - done);
    convert_to_f32(from, source + done * size_of(from), block, n);
    convert_from_f32(to, block, target + done * size_of(to), n);
  }
}

}  // namespace

Tensor FileWeight::read(Device& device, DType dtype) const {
  Tensor y = device.empty(shape(), dtype);
  if (y.raw()) read_into(y.data<std::byte>(), dtype);
  return y;
}

std::vector<float> FileWeight::values() const {
  std::vector<float> result(static_cast<size_t>(shape().elements()));
  read_into(reinterpret_cast<std::byte*>(result.data()), DType::kF32);
  return result;
}

void FileWeight::read_into(std::byte* target, DType dtype) const {
  const TensorInfo& tensor = binding_.file->tensors()[binding_.tensor];
  const int64_t count = shape().elements();
  const std::byte* source =
      binding_.file->read(tensor).data() + binding_.part * (count / binding_.span) * size_of(tensor.dtype);
  // Values read once into the form that the device keeps: the file's pages need not stay in memory beside it.
  struct Done {
    const TensorFile& file;
    const TensorInfo& tensor;
    ~Done() { file.done(tensor); }
  } const done{*binding_.file, tensor};
  if (!binding_.transpose) {
    parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
      convert(tensor.dtype, source + begin * size_of(tensor.dtype), dtype, target + begin * size_of(dtype),
              end - begin);
    });
    return;
  }
  const int64_t out = shape()[0], in = shape()[1];  // stored as [in, out]
  std::vector<float> column(static_cast<size_t>(in));
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t i = 0; i < in; ++i)
      convert_to_f32(tensor.dtype, source + (i * out + o) * size_of(tensor.dtype), &column[static_cast<size_t>(i)], 1);
    convert_from_f32(dtype, column.data(), target + o * in * size_of(dtype), in);
  }
}

void FileWeight::read_rows(std::span<const int32_t> rows, Tensor& y) const {
  if (binding_.transpose) fail(ErrorCode::kInternal, "rows of the transposed parameter {}", name());
  const TensorInfo& tensor = binding_.file->tensors()[binding_.tensor];
  const int64_t width = shape()[1];
  const std::byte* source =
      binding_.file->read(tensor).data() + binding_.part * (shape().elements() / binding_.span) * size_of(tensor.dtype);
  for (size_t i = 0; i < rows.size(); ++i)
    convert(tensor.dtype, source + rows[i] * width * size_of(tensor.dtype), y.dtype(),
            y.data<std::byte>() + static_cast<int64_t>(i) * width * size_of(y.dtype()), width);
}

}  // namespace gesso
