#pragma once
#include <filesystem>
#include <memory>
#include <span>

#include "base/files.h"
#include "io/tensor_layout.h"

namespace gesso {

/// The largest safetensors header that is read, in bytes. The format's own reader stops at 100 MB; a checkpoint with a
/// million tensors needs more.
inline constexpr uint64_t kMaxSafetensorsHeader = uint64_t{512} << 20;
/// The most entries of `__metadata__` that are read.
inline constexpr size_t kMaxSafetensorsMetadata = 65536;

/// `metadata` is `__metadata__`.
using SafetensorsHeader = TensorFileHeader;

/// Reads and validates the header of the safetensors file whose content is `file`; `path` is for messages.
///
/// The format: a little-endian 64-bit length, that many bytes of JSON, then the tensors' bytes
/// (https://github.com/huggingface/safetensors). Every length is checked before anything of its size is allocated, and
/// memory stays within a small multiple of the header. Accepted beyond the format's own reader: gaps between tensors
/// and bytes after the last one (the well-known pruned SD 1.5 checkpoint has four), any order of entries. Refused:
/// overlapping tensors, a name twice, a byte span that is not shape x type.
/// Throws kBadFile, or kUnsupported for a type or a number of dimensions that Gesso does not have.
SafetensorsHeader parse_safetensors(std::span<const std::byte> file, const std::filesystem::path& path);

/// Opens a mapped file as safetensors. Throws as parse_safetensors does.
std::shared_ptr<const TensorFile> open_safetensors(std::shared_ptr<const MappedFile> file);

}  // namespace gesso
