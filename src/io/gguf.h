#pragma once
#include <filesystem>
#include <memory>
#include <span>

#include "base/files.h"
#include "io/tensor_layout.h"

namespace gesso {

/// The types of metadata values, as GGUF numbers them.
enum class GgufType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12
};

/// Where tensors begin when general.alignment does not say.
inline constexpr uint32_t kGgufAlignment = 32;
/// A metadata key before a tensor's name: an array with the shape that the tensor had before it was stored in rows of
/// another width, outermost extent first.
inline constexpr std::string_view kGgufShapeKey = "comfy.gguf.orig_shape.";

/// Reads and validates the header of the GGUF file (version 2 or 3, little-endian) whose content is `file`; `path` is
/// for messages. The format: github.com/ggml-org/ggml/blob/master/docs/gguf.md.
///
/// Shapes are turned into torch's order, and are those that the tensor had before it was stored where the metadata say
/// so (kGgufShapeKey). Metadata become text: numbers in decimal, truths as true and false, an array as a bracketed list
/// of its first elements, a text of over a megabyte as a note of its length. Every length is checked before anything of
/// its size is allocated. Refused: a key or a name twice, a tensor outside the file, off its alignment or over another
/// one, a row that is no whole number of blocks, arrays nested more than four deep.
/// Throws kBadFile, or kUnsupported for a version, a type or a number of dimensions that Gesso does not have.
TensorFileHeader parse_gguf(std::span<const std::byte> file, const std::filesystem::path& path);

/// Opens a mapped file as GGUF. Throws as parse_gguf does.
std::shared_ptr<const TensorFile> open_gguf(std::shared_ptr<const MappedFile> file);

}  // namespace gesso
