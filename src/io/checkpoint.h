#pragma once
#include <memory>
#include <span>

#include "base/files.h"
#include "io/checkpoint_tensors.h"

namespace gesso {

/// The tensors of a checkpoint that torch.save wrote as a zip archive (since torch 1.6): `NAME/data.pkl`, and a file
/// `NAME/data/KEY` for each storage. Files must be stored plainly, as torch does, and be little-endian.
/// Throws kBadFile, kUnsupported (compressed, big-endian, TorchScript, a zip of something else).
CheckpointTensors parse_zip_checkpoint(std::span<const std::byte> file, const std::filesystem::path& path);

/// The same for the older form: pickles of a magic number, a version, the machine, the object, and the keys of the
/// storages, which follow one after the other, each after its number of elements.
CheckpointTensors parse_legacy_checkpoint(std::span<const std::byte> file, const std::filesystem::path& path);

/// Opens a mapped file as one of the two. Reading a tensor that is not contiguous makes a contiguous copy, which lives
/// until done() has been called as often as read(). Throws as the parsers do.
std::shared_ptr<const TensorFile> open_zip_checkpoint(std::shared_ptr<const MappedFile> file);
std::shared_ptr<const TensorFile> open_legacy_checkpoint(std::shared_ptr<const MappedFile> file);

}  // namespace gesso
