#include "io/tensor_writer.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/error.h"
#include "io/printable.h"

namespace gesso {
namespace {

/// Fills in offset and bytes of each; returns the total.
uint64_t lay_out(std::vector<TensorInfo>& tensors, uint64_t alignment) {
  std::set<std::string_view> names;
  int64_t total = 0;
  for (TensorInfo& t : tensors) {
    if (!names.insert(t.name).second)
      fail(ErrorCode::kUsage, "the tensor name {} cannot be written: it is there twice", printable(t.name));
    const auto elements = checked_elements(std::span(t.shape.begin(), t.shape.end()));
    const auto bytes = elements ? byte_size(t.dtype, *elements) : std::nullopt;
    const auto padding = static_cast<int64_t>((alignment - static_cast<uint64_t>(total) % alignment) % alignment);
    if (!bytes || __builtin_add_overflow(total, padding, &total))
      fail(ErrorCode::kUsage, "tensor {} {} of {} is too large to be written, or no whole number of blocks",
           printable(t.name), to_string(t.shape), to_string(t.dtype));
    t.offset = static_cast<uint64_t>(total);
    t.bytes = static_cast<uint64_t>(*bytes);
    if (__builtin_add_overflow(total, *bytes, &total))
      fail(ErrorCode::kUsage, "tensor {} {} is too large to be written", printable(t.name), to_string(t.shape));
  }
  if (__builtin_add_overflow(total, static_cast<int64_t>(alignment - 1), &total))
    fail(ErrorCode::kUsage, "the tensors are too large to be written");
  return static_cast<uint64_t>(total) / alignment * alignment;  // readers of GGUF want the last one padded too
}

}  // namespace

TensorWriter::TensorWriter(const std::filesystem::path& target, std::vector<TensorInfo> tensors, uint64_t alignment)
    : file_(target), tensors_(std::move(tensors)), data_bytes_(lay_out(tensors_, alignment)) {}

void TensorWriter::begin(const std::string& header) {
  header_bytes_ = header.size();
  const auto folder = file_.target().has_parent_path() ? file_.target().parent_path() : std::filesystem::path(".");
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  if (!error && space.available < file_bytes())
    fail(ErrorCode::kIo, "{} needs {} bytes, but the disk has room for {}", quoted(file_.target()), file_bytes(),
         space.available);
  put(std::as_bytes(std::span(header.data(), header.size())));
}

void TensorWriter::put(std::span<const std::byte> bytes) {
  try {
    file_.write(bytes);
  } catch (const Error& error) {
    fail(error.code(), "{}; the whole file needs {} bytes", error.what(), file_bytes());
  }
}

void TensorWriter::advance() {
  while (next_ < tensors_.size() && written_ >= tensors_[next_].offset + tensors_[next_].bytes) {
    ++next_;
    const uint64_t begin = next_ < tensors_.size() ? tensors_[next_].offset : data_bytes_;
    static constexpr std::byte kZeros[64] = {};
    while (written_ < begin) {
      const auto zeros = std::span(kZeros).first(std::min<uint64_t>(begin - written_, std::size(kZeros)));
      put(zeros);
      written_ += zeros.size();
    }
  }
}

void TensorWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    advance();
    if (next_ == tensors_.size())
      fail(ErrorCode::kInternal, "{}: {} bytes too many for the announced shapes", quoted(file_.target()),
           bytes.size());
    const uint64_t end = tensors_[next_].offset + tensors_[next_].bytes;
    const auto piece = bytes.first(std::min<uint64_t>(bytes.size(), end - written_));
    put(piece);
    written_ += piece.size();
    bytes = bytes.subspan(piece.size());
  }
}

const std::filesystem::path& TensorWriter::complete() {
  advance();
  if (next_ != tensors_.size()) {
    uint64_t missing = tensors_[next_].offset - written_;
    for (size_t i = next_; i < tensors_.size(); ++i) missing += tensors_[i].bytes;
    fail(ErrorCode::kInternal, "{}: {} bytes of the announced tensors are missing", quoted(file_.target()), missing);
  }
  return file_.temporary();
}

void TensorWriter::finish() {
  complete();
  try {
    file_.commit();
  } catch (const Error& error) {
    fail(error.code(), "{}; the whole file needs {} bytes", error.what(), file_bytes());
  }
}

}  // namespace gesso
