#include "weights/file_weight.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/threads.h"
#include "device/device.h"
#include "ops/ops.h"

namespace gesso {
namespace {

constexpr int64_t kGrain = 1 << 16;

/// Stored values [begin, begin + count) as f32.
void to_f32(const Scaling* scaling, DType from, const std::byte* source, int64_t begin, float* target, int64_t count) {
  if (scaling)
    scaling->to_f32(from, source, begin, target, count);
  else
    convert_range_to_f32(from, source, begin, target, count);
}

/// Converts the stored values [begin, begin + count) into `target` of type `to`, piece by piece through f32.
void convert(const Scaling* scaling, DType from, const std::byte* source, int64_t begin, DType to, std::byte* target,
             int64_t count) {
  if (from == to && !scaling) {
    std::memcpy(target, source + begin * size_of(to), static_cast<size_t>(count * size_of(to)));
    return;
  }
  constexpr int64_t kPiece = 1024;  // a multiple of every block
  float piece[kPiece];
  for (int64_t done = 0; done < count;) {
    const int64_t n = std::min(kPiece - (begin + done) % kPiece, count - done);
    to_f32(scaling, from, source, begin + done, piece, n);
    convert_from_f32(to, piece, target + done * size_of(to), n);
    done += n;
  }
}

}  // namespace

Tensor FileWeight::stored(Device& device) const {
  const TensorInfo& tensor = binding_.file->tensors()[binding_.tensor];
  const bool plain = tensor.dtype == DType::kF32 || tensor.dtype == DType::kF16 || tensor.dtype == DType::kBF16;
  if (!plain || binding_.transpose || binding_.scaling) return {};
  const int64_t size = size_of(tensor.dtype), count = shape().elements();
  const std::byte* begin = binding_.file->read(tensor).data() + binding_.part * (count / binding_.span) * size;
  if (reinterpret_cast<uintptr_t>(begin) % static_cast<uintptr_t>(size) != 0) return {};  // files may put it anywhere
  // Only read: the file is mapped without the right to write.
  return Tensor(std::make_shared<Storage>(device, const_cast<std::byte*>(begin), count * size), tensor.dtype, shape());
}

Tensor FileWeight::read(Device& device, DType dtype) const {
  const TensorInfo& tensor = binding_.file->tensors()[binding_.tensor];
  if (const Tensor plain = stored(device); plain && plain.dtype() != dtype) {
    const Tensor y = cast(plain, dtype);
    binding_.file->done(tensor);
    return y;
  }
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
  const std::byte* source = binding_.file->read(tensor).data();
  const int64_t first = binding_.part * (count / binding_.span);
  // Values read once into the form that the device keeps: the file's pages need not stay in memory beside it.
  struct Done {
    const TensorFile& file;
    const TensorInfo& tensor;
    ~Done() { file.done(tensor); }
  } const done{*binding_.file, tensor};
  if (!binding_.transpose) {
    parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
      convert(binding_.scaling.get(), tensor.dtype, source, first + begin, dtype, target + begin * size_of(dtype),
              end - begin);
    });
    return;
  }
  const int64_t out = shape()[0], in = shape()[1];  // stored as [in, out]
  std::vector<float> row(static_cast<size_t>(out));
  for (int64_t i = 0; i < in; ++i) {
    to_f32(binding_.scaling.get(), tensor.dtype, source, first + i * out, row.data(), out);
    for (int64_t o = 0; o < out; ++o)
      convert_from_f32(dtype, &row[static_cast<size_t>(o)], target + (o * in + i) * size_of(dtype), 1);
  }
}

void FileWeight::read_rows(std::span<const int32_t> rows, Tensor& y) const {
  if (binding_.transpose) fail(ErrorCode::kInternal, "rows of the transposed parameter {}", name());
  const TensorInfo& tensor = binding_.file->tensors()[binding_.tensor];
  const int64_t width = shape()[1];
  const std::byte* source = binding_.file->read(tensor).data();
  const int64_t first = binding_.part * (shape().elements() / binding_.span);
  for (size_t i = 0; i < rows.size(); ++i)
    convert(binding_.scaling.get(), tensor.dtype, source, first + rows[i] * width, y.dtype(),
            y.data<std::byte>() + static_cast<int64_t>(i) * width * size_of(y.dtype()), width);
}

}  // namespace gesso
