#include "io/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "io/checkpoint_storage.h"
#include "io/printable.h"
#include "io/zip_directory.h"

namespace gesso {
namespace {

using Bytes = std::span<const std::byte>;
namespace fs = std::filesystem;

/// Copies the elements of a strided window in row-major order. The window has been checked to hold them.
void gather(const CheckpointTensor& t, const std::byte* source, std::byte* target) {
  const Shape& shape = t.info.shape;
  const auto size = static_cast<size_t>(size_of(t.info.dtype));
  std::array<int64_t, Shape::kMaxRank> index{};
  for (uint64_t done = 0; done < t.info.bytes; done += size) {
    int64_t at = 0;
    for (int axis = 0; axis < shape.rank(); ++axis)
      at += index[static_cast<size_t>(axis)] * t.strides[static_cast<size_t>(axis)];
    std::memcpy(target + done, source + static_cast<size_t>(at) * size, size);
    for (int axis = shape.rank(); axis-- > 0;) {
      if (++index[static_cast<size_t>(axis)] < shape[axis]) break;
      index[static_cast<size_t>(axis)] = 0;
    }
  }
}

class CheckpointFile final : public TensorFile {
 public:
  CheckpointFile(std::shared_ptr<const MappedFile> file, std::string_view format, CheckpointTensors found)
      : file_(std::move(file)), format_(format), found_(std::move(found)) {
    for (const CheckpointTensor& t : found_.tensors) {
      by_name_.emplace(t.info.name, infos_.size());
      infos_.push_back(t.info);
    }
  }

  const fs::path& path() const override { return file_->path(); }
  std::string_view format() const override { return format_; }
  const std::vector<TensorInfo>& tensors() const override { return infos_; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  const std::vector<std::string>& notes() const override { return found_.notes; }

  Bytes read(const TensorInfo& tensor) const override {
    const size_t i = find(tensor);
    const CheckpointTensor& t = found_.tensors[i];
    const Bytes window = file_->bytes().subspan(t.info.offset, t.window_bytes);
    if (t.contiguous) return window;
    const std::lock_guard lock(mutex_);
    Copy& copy = copies_[i];
    if (copy.readers++ == 0) {
      copy.bytes.resize(t.info.bytes);
      gather(t, window.data(), copy.bytes.data());
    }
    return copy.bytes;
  }

  void done(const TensorInfo& tensor) const override {
    const size_t i = find(tensor);
    const CheckpointTensor& t = found_.tensors[i];
    file_->forget(file_->bytes().subspan(t.info.offset, t.window_bytes));
    if (t.contiguous) return;
    const std::lock_guard lock(mutex_);
    const auto copy = copies_.find(i);
    if (copy != copies_.end() && --copy->second.readers == 0) copies_.erase(copy);
  }
  void will_need(const TensorInfo& tensor) const override {
    const CheckpointTensor& t = found_.tensors[find(tensor)];
    file_->will_need(file_->bytes().subspan(t.info.offset, t.window_bytes));
  }

 private:
  struct Copy {
    std::vector<std::byte> bytes;
    int readers = 0;
  };

  size_t find(const TensorInfo& tensor) const {
    const auto found = by_name_.find(tensor.name);
    if (found == by_name_.end() || infos_[found->second].bytes != tensor.bytes)
      fail(ErrorCode::kInternal, "tensor {} is not one of {}", printable(tensor.name), quoted(path()));
    return found->second;
  }

  std::shared_ptr<const MappedFile> file_;
  std::string_view format_;
  CheckpointTensors found_;
  std::vector<TensorInfo> infos_;
  std::unordered_map<std::string, size_t> by_name_;
  std::map<std::string, std::string> metadata_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<size_t, Copy> copies_;
};

/// The files of a checkpoint's archive, by the name behind that of the archive's folder.
class Archive {
 public:
  Archive(Bytes file, const fs::path& path) : file_(file), path_(path), entries_(read_zip_directory(file, path)) {
    constexpr std::string_view kPickle = "data.pkl";
    const ZipEntry* pickle = nullptr;
    for (const ZipEntry& e : entries_) {
      const bool named = e.name == kPickle || e.name.ends_with("/data.pkl");
      if (named && (!pickle || e.name.size() < pickle->name.size())) pickle = &e;
    }
    if (!pickle)
      fail(ErrorCode::kUnsupported,
           "{} is a zip archive, but not of torch.save: it has no data.pkl; unpack it, or name the model itself",
           quoted(path));
    const std::string folder = pickle->name.substr(0, pickle->name.size() - kPickle.size());
    for (const ZipEntry& e : entries_)
      if (e.name.starts_with(folder)) by_name_.emplace(std::string_view(e.name).substr(folder.size()), &e);
    if (by_name_.contains("constants.pkl"))
      fail(ErrorCode::kUnsupported, "{} is a TorchScript program: save the state_dict() of its model instead",
           quoted(path));
  }

  /// The bytes of a file, or null when there is none.
  const ZipEntry* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return nullptr;
    if (found->second->method != 0)
      fail(ErrorCode::kUnsupported, "{}: the entry {} is compressed, which torch.save never does: save it again",
           quoted(path_), printable(found->second->name));
    return found->second;
  }
  Bytes bytes(const ZipEntry& entry) const { return file_.subspan(entry.offset, entry.bytes); }

 private:
  Bytes file_;
  const fs::path& path_;
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string_view, const ZipEntry*> by_name_;
};

[[noreturn]] void fail_big_endian(const fs::path& path) {
  fail(ErrorCode::kUnsupported, "{} was written by a big-endian machine: save it again on another", quoted(path));
}

/// The pickles of a legacy file, one after the other.
class LegacyReader {
 public:
  LegacyReader(Bytes file, const fs::path& path) : file_(file), path_(path) {}

  Pickle pickle() {
    Pickle p = read_pickle(file_.subspan(at_), quoted(path_));
    at_ += p.size;
    return p;
  }

  void expect_header() {
    // 0x1950a86a20f9469cfc6c, as protocols 2 and up and as older ones write it
    constexpr std::string_view kMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19",
                               kDigits = "119547037146038801333356";
    const Pickle magic = pickle();
    const PickleValue& number = magic[magic.root];
    if (number.kind != PickleKind::kBigInt || (number.text != kMagic && number.text != kDigits))
      fail(ErrorCode::kUnsupported,
           "{} is a pickle, but not of torch.save: save the model's state_dict() with torch.save, or as safetensors",
           quoted(path_));
    const Pickle version = pickle();
    if (version[version.root].kind != PickleKind::kInt || version[version.root].integer != 1001)
      fail(ErrorCode::kUnsupported, "{}: a legacy PyTorch checkpoint of an unknown version: save it again",
           quoted(path_));
    const Pickle machine = pickle();
    const auto& items = machine[machine.root].items;
    for (size_t i = 0; i + 1 < items.size(); i += 2)
      if (machine[items[i]].text == "little_endian" && machine[items[i + 1]].integer == 0) fail_big_endian(path_);
  }

  /// Where each storage lies; `sizes` has the bytes of an element of each.
  std::unordered_map<std::string, StorageSpan> storages(const std::unordered_map<std::string, uint64_t>& sizes) {
    const Pickle keys = pickle();
    std::unordered_map<std::string, StorageSpan> spans;
    for (const PickleId id : keys[keys.root].items) {
      const std::string key(keys[id].text);
      const auto size = sizes.find(key);
      if (size == sizes.end())
        fail(ErrorCode::kUnsupported,
             "{}: the storage {} has an element type that Gesso does not have: save it as plain floats", quoted(path_),
             printable(key));
      if (file_.size() - at_ < 8) fail_truncated(key, 8);
      uint64_t count = 0, bytes = 0;
      std::memcpy(&count, file_.data() + at_, 8);
      at_ += 8;
      if (__builtin_mul_overflow(count, size->second, &bytes) || bytes > file_.size() - at_) fail_truncated(key, bytes);
      spans.emplace(key, StorageSpan{at_, bytes});
      at_ += bytes;
    }
    return spans;
  }

 private:
  [[noreturn]] void fail_truncated(const std::string& key, uint64_t needs) const {
    fail(ErrorCode::kBadFile,
         "{} is truncated: the storage {} needs {} bytes from byte {}, {} are there; download it again", quoted(path_),
         printable(key), needs, at_, file_.size() - at_);
  }

  Bytes file_;
  const fs::path& path_;
  size_t at_ = 0;
};

/// A storage must hold what the pickle says; a difference means that its element type is not the one named.
void expect_size(const fs::path& path, std::string_view key, uint64_t count, uint64_t element_size, uint64_t bytes) {
  uint64_t claimed = 0;
  if (__builtin_mul_overflow(count, element_size, &claimed) || claimed != bytes)
    fail(ErrorCode::kBadFile, "{}: the storage {} is said to have {} elements of {} bytes, but has {} bytes",
         quoted(path), printable(key), count, element_size, bytes);
}

}  // namespace

CheckpointTensors parse_zip_checkpoint(Bytes file, const fs::path& path) {
  const Archive archive(file, path);
  if (const ZipEntry* order = archive.find("byteorder")) {
    const Bytes text = archive.bytes(*order);
    if (text.size() == 3 && std::memcmp(text.data(), "big", 3) == 0) fail_big_endian(path);
  }
  const Bytes text = archive.bytes(*archive.find("data.pkl"));
  const Pickle pickle = read_pickle(text, quoted(path));
  const auto find = [&](std::string_view key, uint64_t count, uint64_t element_size) {
    const ZipEntry* entry = archive.find("data/" + std::string(key));
    if (!entry)
      fail(ErrorCode::kBadFile, "{}: the archive lacks the storage {}; download it again", quoted(path),
           printable(key));
    expect_size(path, key, count, element_size, entry->bytes);
    return StorageSpan{entry->offset, entry->bytes};
  };
  return collect_tensors(pickle, find, path);
}

CheckpointTensors parse_legacy_checkpoint(Bytes file, const fs::path& path) {
  LegacyReader reader(file, path);
  reader.expect_header();
  const Pickle pickle = reader.pickle();
  std::unordered_map<std::string, uint64_t> sizes;
  for (const PickleValue& v : pickle.values)
    if (const auto storage = storage_name(pickle, v))
      if (const auto dtype = torch_dtype(storage->type))
        sizes.emplace(storage->key, static_cast<uint64_t>(size_of(*dtype)));
  const auto spans = reader.storages(sizes);
  const auto find = [&](std::string_view key, uint64_t count, uint64_t element_size) {
    const auto found = spans.find(std::string(key));
    if (found == spans.end())
      fail(ErrorCode::kBadFile, "{}: the storage {} is missing; download it again", quoted(path), printable(key));
    expect_size(path, key, count, element_size, found->second.bytes);
    return found->second;
  };
  return collect_tensors(pickle, find, path);
}

std::shared_ptr<const TensorFile> open_zip_checkpoint(std::shared_ptr<const MappedFile> file) {
  CheckpointTensors found = parse_zip_checkpoint(file->bytes(), file->path());
  return std::make_shared<CheckpointFile>(std::move(file), "PyTorch", std::move(found));
}

std::shared_ptr<const TensorFile> open_legacy_checkpoint(std::shared_ptr<const MappedFile> file) {
  CheckpointTensors found = parse_legacy_checkpoint(file->bytes(), file->path());
  return std::make_shared<CheckpointFile>(std::move(file), "PyTorch, before 1.6", std::move(found));
}

}  // namespace gesso
