#include "io/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "io/printable.h"
#include "tensor/quant/block_type.h"

namespace gesso {
namespace {

constexpr int kMaxDepth = 4;           // of arrays in arrays
constexpr size_t kShownElements = 16;  // of an array, in the text of its metadata
constexpr uint64_t kMaxText = uint64_t{1} << 20;

/// Bytes of a metadata value of fixed size; 0 for the others.
size_t size_of(GgufType type) {
  constexpr uint8_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kSizes[static_cast<size_t>(type)];
}

/// One after another, the values of a header, each checked against the end of the file.
class Cursor {
 public:
  Cursor(std::span<const std::byte> file, const std::filesystem::path& path) : file_(file), path_(path) {}

  uint64_t position() const { return at_; }
  uint64_t left() const { return file_.size() - at_; }
  const std::filesystem::path& path() const { return path_; }
  /// What is being read, for messages.
  void reading(std::string what) { what_ = std::move(what); }

  std::string_view take(uint64_t size) {
    if (size > left()) damaged(fmt::format("needs {} bytes at byte {}, has {}", size, at_, left()));
    const auto* begin = reinterpret_cast<const char*>(file_.data() + at_);
    at_ += size;
    return {begin, static_cast<size_t>(size)};
  }
  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view text() { return take(number<uint64_t>()); }
  /// How many of something are to follow, each of at least `smallest` bytes.
  uint64_t count(uint64_t smallest) {
    const auto value = number<uint64_t>();
    if (value > left() / smallest) damaged(fmt::format("promises {} entries at byte {}", value, at_ - 8));
    return value;
  }
  GgufType type() {
    const auto value = number<uint32_t>();
    if (value > static_cast<uint32_t>(GgufType::kF64)) damaged(fmt::format("has the unknown value type {}", value));
    return static_cast<GgufType>(value);
  }
  [[noreturn]] void damaged(const std::string& why) const {
    fail(ErrorCode::kBadFile, "{} is damaged or cut off: {} {}; download or copy it again", quoted(path_), what_, why);
  }

 private:
  std::span<const std::byte> file_;
  const std::filesystem::path& path_;
  uint64_t at_ = 0;
  std::string what_ = "the header";
};

std::string scalar_text(Cursor& in, GgufType type) {
  switch (type) {
    case GgufType::kU8:
      return std::to_string(in.number<uint8_t>());
    case GgufType::kI8:
      return std::to_string(in.number<int8_t>());
    case GgufType::kU16:
      return std::to_string(in.number<uint16_t>());
    case GgufType::kI16:
      return std::to_string(in.number<int16_t>());
    case GgufType::kU32:
      return std::to_string(in.number<uint32_t>());
    case GgufType::kI32:
      return std::to_string(in.number<int32_t>());
    case GgufType::kU64:
      return std::to_string(in.number<uint64_t>());
    case GgufType::kI64:
      return std::to_string(in.number<int64_t>());
    case GgufType::kF32:
      return fmt::format("{}", in.number<float>());
    case GgufType::kF64:
      return fmt::format("{}", in.number<double>());
    case GgufType::kBool:
      return in.number<uint8_t>() ? "true" : "false";
    case GgufType::kString: {
      const std::string_view text = in.text();
      return text.size() <= kMaxText ? std::string(text) : fmt::format("(a text of {} bytes)", text.size());
    }
    case GgufType::kArray:
      break;
  }
  return {};
}

std::string array_text(Cursor& in, int depth) {
  const GgufType type = in.type();
  if (type == GgufType::kArray && depth == kMaxDepth)
    in.damaged(fmt::format("has arrays nested more than {} deep", kMaxDepth));
  const size_t fixed = size_of(type);
  const uint64_t count = in.count(fixed ? fixed : type == GgufType::kString ? 8 : 12);
  std::string text = "[";
  for (uint64_t i = 0; i < count; ++i) {
    if (i == kShownElements && fixed) {
      in.take((count - i) * fixed);
      break;
    }
    std::string element = type == GgufType::kArray ? array_text(in, depth + 1) : scalar_text(in, type);
    if (i >= kShownElements) continue;
    if (type == GgufType::kString) element = printable(element);
    text += (i ? ", " : "") + element;
  }
  return text + (count > kShownElements ? fmt::format(", ... {} in all]", count) : "]");
}

/// Keys whose meaning Gesso relies on, or that every writer has.
struct KnownKey {
  std::string_view key;
  GgufType type;
  std::string_view wanted;
};
constexpr KnownKey kKnownKeys[] = {{"general.alignment", GgufType::kU32, "a 32-bit unsigned number"},
                                   {"general.architecture", GgufType::kString, "a text"},
                                   {"general.quantization_version", GgufType::kU32, "a 32-bit unsigned number"}};

class Parser {
 public:
  Parser(std::span<const std::byte> file, const std::filesystem::path& path) : in_(file, path) {
    const auto [tensors, keys] = read_preamble();
    for (uint64_t i = 0; i < keys; ++i) read_key();
    for (uint64_t i = 0; i < tensors; ++i) read_tensor();
    const uint64_t end = in_.position(), padding = (alignment_ - end % alignment_) % alignment_;
    header_.data_begin = std::min<uint64_t>(end + padding, file.size());
    check_tensor_layout(header_.tensors, end + padding, file.size(), path);
    for (const auto& [name, shape] : shapes_)
      header_.metadata.emplace(std::string(kGgufShapeKey) + name, to_string(shape));
  }
  TensorFileHeader take() { return std::move(header_); }

 private:
  std::pair<uint64_t, uint64_t> read_preamble() {
    in_.take(4);
    const auto version = in_.number<uint32_t>();
    if (version == 0x02000000 || version == 0x03000000)
      fail(ErrorCode::kUnsupported, "{} is a big-endian GGUF file: get the little-endian one", quoted(in_.path()));
    if (version != 2 && version != 3)
      fail(ErrorCode::kUnsupported, "{} is GGUF of version {}: expected 2 or 3; convert it anew", quoted(in_.path()),
           version);
    in_.reading("the number of tensors");
    const uint64_t tensors = in_.count(8 + 4 + 4 + 8);
    in_.reading("the number of metadata entries");
    const uint64_t keys = in_.count(8 + 4 + 1);
    return {tensors, keys};
  }

  void read_key() {
    in_.reading("a metadata key");
    const std::string key(in_.text());
    in_.reading("metadata " + printable(key));
    const GgufType type = in_.type();
    for (const KnownKey& known : kKnownKeys)
      if (known.key == key && known.type != type)
        fail(ErrorCode::kBadFile, "{}: metadata {} is of type {}: expected {}", quoted(in_.path()), printable(key),
             static_cast<uint32_t>(type), known.wanted);
    if (key.starts_with(kGgufShapeKey)) return read_shape(key.substr(kGgufShapeKey.size()), type);
    if (key == "general.alignment") read_alignment();
    std::string text = key == "general.alignment" ? std::to_string(alignment_)
                       : type == GgufType::kArray ? array_text(in_, 1)
                                                  : scalar_text(in_, type);
    if (!header_.metadata.emplace(key, std::move(text)).second)
      fail(ErrorCode::kBadFile, "{}: metadata {} is there twice", quoted(in_.path()), printable(key));
  }

  void read_alignment() {
    alignment_ = in_.number<uint32_t>();
    if (alignment_ == 0 || (alignment_ & (alignment_ - 1)) != 0)
      fail(ErrorCode::kBadFile, "{}: general.alignment is {}: expected a power of two", quoted(in_.path()), alignment_);
  }

  void read_shape(const std::string& tensor, GgufType type) {
    const auto refuse = [&] {
      fail(ErrorCode::kBadFile, "{}: the stored shape of tensor {} is no array of up to {} extents", quoted(in_.path()),
           printable(tensor), Shape::kMaxRank);
    };
    if (type != GgufType::kArray) refuse();
    const GgufType element = in_.type();
    const auto rank = in_.number<uint64_t>();
    if (rank > Shape::kMaxRank) refuse();
    std::array<int64_t, Shape::kMaxRank> dims{};
    for (size_t i = 0; i < rank; ++i) {
      if (element == GgufType::kI32)
        dims[i] = in_.number<int32_t>();
      else if (element == GgufType::kU32)
        dims[i] = in_.number<uint32_t>();
      else if (element == GgufType::kI64 || element == GgufType::kU64)
        dims[i] = in_.number<int64_t>();
      else
        refuse();
      if (dims[i] < 0) refuse();
    }
    if (!shapes_.emplace(tensor, Shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(rank)))).second)
      fail(ErrorCode::kBadFile, "{}: the stored shape of tensor {} is there twice", quoted(in_.path()),
           printable(tensor));
  }

  DType read_dtype(const std::string& name) {
    const auto number = in_.number<uint32_t>();
    if (const auto dtype = dtype_of_ggml(number)) return *dtype;
    const std::string_view known = unread_ggml_type(number);
    fail(ErrorCode::kUnsupported, "{}: tensor {} has the type {}{}{}, which Gesso does not read", quoted(in_.path()),
         printable(name), number, known.empty() ? "" : ", ", known);
  }

  void read_tensor() {
    in_.reading("a tensor's name");
    TensorInfo t{std::string(in_.text()), DType::kF32, {}, 0, 0};
    in_.reading("tensor " + printable(t.name));
    const auto rank = in_.number<uint32_t>();
    if (rank > Shape::kMaxRank)
      fail(ErrorCode::kUnsupported, "{}: tensor {} has {} dimensions: at most {} are supported", quoted(in_.path()),
           printable(t.name), rank, Shape::kMaxRank);
    std::array<int64_t, Shape::kMaxRank> dims{};
    for (size_t i = 0; i < rank; ++i) {  // innermost first
      const auto extent = in_.number<uint64_t>();
      if (extent > INT64_MAX) in_.damaged(fmt::format("has an extent of {}", extent));
      dims[rank - 1 - i] = static_cast<int64_t>(extent);
    }
    t.shape = Shape(std::span<const int64_t>(dims.data(), rank));
    t.dtype = read_dtype(t.name);
    t.offset = in_.number<uint64_t>();
    const int64_t row = rank == 0 ? 1 : t.shape[-1], together = block_elements(t.dtype);
    if (row % together != 0)
      fail(ErrorCode::kBadFile, "{}: rows of tensor {} {} are no whole number of blocks of {} ({} elements)",
           quoted(in_.path()), printable(t.name), to_string(t.shape), to_string(t.dtype), together);
    const auto elements = checked_elements(std::span<const int64_t>(dims.data(), rank));
    const auto bytes = elements ? byte_size(t.dtype, *elements) : std::nullopt;
    if (!bytes)
      fail(ErrorCode::kBadFile, "{}: tensor {} {} is larger than any file", quoted(in_.path()), printable(t.name),
           to_string(t.shape));
    t.bytes = static_cast<uint64_t>(*bytes);
    if (t.offset % alignment_ != 0)
      fail(ErrorCode::kBadFile, "{}: tensor {} begins at {}, which is no multiple of the alignment {}",
           quoted(in_.path()), printable(t.name), t.offset, alignment_);
    if (const auto stored = shapes_.find(t.name); stored != shapes_.end()) {
      const auto& shape = stored->second;
      if (checked_elements(std::span(shape.begin(), shape.end())) != elements)
        fail(ErrorCode::kBadFile, "{}: tensor {} {} cannot have the stored shape {}", quoted(in_.path()),
             printable(t.name), to_string(t.shape), to_string(shape));
      t.shape = shape;
    }
    check_tensor_size(t, in_.path());
    header_.tensors.push_back(std::move(t));
  }

  Cursor in_;
  TensorFileHeader header_;
  uint32_t alignment_ = kGgufAlignment;
  std::map<std::string, Shape> shapes_;  ///< stored shapes by tensor
};

}  // namespace

TensorFileHeader parse_gguf(std::span<const std::byte> file, const std::filesystem::path& path) {
  return Parser(file, path).take();
}

std::shared_ptr<const TensorFile> open_gguf(std::shared_ptr<const MappedFile> file) {
  TensorFileHeader header = parse_gguf(file->bytes(), file->path());
  return make_tensor_file(std::move(file), "gguf", std::move(header));
}

}  // namespace gesso
