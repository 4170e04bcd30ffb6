#include "io/shards.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "io/printable.h"
#include "io/shard_index.h"

namespace gesso {
namespace {

namespace fs = std::filesystem;
using File = std::shared_ptr<const TensorFile>;

/// Several files seen as one: offsets count through the files' contents laid end to end.
class MergedFile final : public TensorFile {
 public:
  MergedFile(fs::path path, std::vector<File> files, const std::map<std::string, size_t>& weight_map)
      : path_(std::move(path)), files_(std::move(files)) {
    const auto owners = find_owners(weight_map);
    uint64_t begin = 0;
    for (size_t i = 0; i < files_.size(); ++i) {
      begins_.push_back(begin);
      for (TensorInfo t : files_[i]->tensors()) {
        begin = std::max(begin, begins_[i] + t.offset + t.bytes);
        if (owners.at(t.name) != i) continue;
        t.offset += begins_[i];
        tensors_.push_back(std::move(t));
      }
      metadata_.insert(files_[i]->metadata().begin(), files_[i]->metadata().end());
      notes_.insert(notes_.end(), files_[i]->notes().begin(), files_[i]->notes().end());
    }
  }

  const fs::path& path() const override { return path_; }
  std::string_view format() const override { return files_.front()->format(); }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  const std::vector<std::string>& notes() const override { return notes_; }
  std::span<const std::byte> read(const TensorInfo& tensor) const override {
    if (tensor.bytes == 0) return {};
    const auto [file, own] = in_shard(tensor);
    return file->read(own);
  }
  void done(const TensorInfo& tensor) const override {
    if (tensor.bytes == 0) return;
    const auto [file, own] = in_shard(tensor);
    file->done(own);
  }
  void will_need(const TensorInfo& tensor) const override {
    if (tensor.bytes == 0) return;
    const auto [file, own] = in_shard(tensor);
    file->will_need(own);
  }

 private:
  /// The shard that holds a tensor, and the tensor as that shard knows it.
  std::pair<const TensorFile*, TensorInfo> in_shard(const TensorInfo& tensor) const {
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), tensor.offset);
    const auto i = static_cast<size_t>(after - begins_.begin()) - 1;
    TensorInfo own = tensor;
    own.offset -= begins_[i];
    return {files_[i].get(), own};
  }
  std::unordered_map<std::string_view, size_t> find_owners(const std::map<std::string, size_t>& weight_map) const {
    std::unordered_map<std::string_view, size_t> owners;
    for (size_t i = 0; i < files_.size(); ++i) {
      for (const TensorInfo& t : files_[i]->tensors()) {
        const auto [owner, fresh] = owners.emplace(t.name, i);
        if (fresh) continue;
        const auto named = weight_map.find(t.name);
        if (named == weight_map.end())
          fail(ErrorCode::kBadFile, "{}: tensor {} is both in {} and in {}", quoted(path_), printable(t.name),
               quoted(files_[owner->second]->path().filename()), quoted(files_[i]->path().filename()));
        if (named->second == i) owner->second = i;
      }
    }
    for (const auto& [name, shard] : weight_map) {
      const auto owner = owners.find(name);
      if (owner == owners.end() || owner->second != shard)
        fail(ErrorCode::kBadFile, "{}: tensor {} is not in its shard {}", quoted(path_), printable(name),
             quoted(files_[shard]->path().filename()));
    }
    return owners;
  }

  fs::path path_;
  std::vector<File> files_;
  std::vector<uint64_t> begins_;  ///< where each file's offsets begin in ours
  std::vector<TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;
  std::vector<std::string> notes_;
};

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i ? ", " : "") + printable(names[i]);
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

File open_shards(const fs::path& path, const std::vector<std::string>& shards,
                 const std::map<std::string, size_t>& weight_map) {
  const fs::path folder = path.parent_path();
  std::vector<std::string> missing;
  for (const std::string& name : shards) {
    std::error_code error;
    if (fs::status(folder / name, error).type() == fs::file_type::not_found) missing.push_back(name);
  }
  if (!missing.empty())
    fail(ErrorCode::kNotFound, "{} needs {} shards, of which {} are missing: {}; put them into the same folder",
         quoted(path), shards.size(), missing.size(), listed(missing));
  std::vector<File> files;
  for (const std::string& name : shards) files.push_back(open_tensor_file(folder / name));
  return merge_tensor_files(path, std::move(files), weight_map);
}

File open_index(const fs::path& path) {
  const ShardIndex index = read_shard_index(path);
  return open_shards(path, index.shards, index.weight_map);
}

/// The i and n of a name such as `model-00001-of-00003.safetensors`, and the name with i left out.
struct Part {
  std::string stem;
  int index = 0, count = 0;
};

std::optional<Part> part_of(const std::string& name) {
  constexpr std::string_view kEnd = ".safetensors", kOf = "-of-";
  const std::string_view text = std::string_view(name).substr(0, name.size() - kEnd.size());
  const size_t of = text.rfind(kOf);
  if (of == text.npos) return std::nullopt;
  const size_t dash = text.rfind('-', of - 1);
  if (of == 0 || dash == text.npos) return std::nullopt;
  Part part{std::string(text.substr(0, dash))};
  const auto number = [](std::string_view digits, int& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() && value > 0;
  };
  if (!number(text.substr(dash + 1, of - dash - 1), part.index) || !number(text.substr(of + kOf.size()), part.count))
    return std::nullopt;
  return part;
}

/// Whether the sorted names are the parts 1 to n of one set.
bool is_whole_set(const std::vector<std::string>& names) {
  std::vector<bool> seen;
  std::string stem;
  for (const std::string& name : names) {
    const auto part = part_of(name);
    if (!part || part->count != static_cast<int>(names.size()) || part->index > part->count) return false;
    if (seen.empty()) seen.resize(names.size()), stem = part->stem;
    if (part->stem != stem || seen[static_cast<size_t>(part->index) - 1]) return false;
    seen[static_cast<size_t>(part->index) - 1] = true;
  }
  return !names.empty();
}

File open_folder(const fs::path& folder) {
  std::vector<std::string> indexes, files;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (const fs::directory_iterator end; !error && entries != end; entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (name.ends_with(".safetensors.index.json")) indexes.push_back(name);
    if (name.ends_with(".safetensors")) files.push_back(name);
  }
  if (error) fail(ErrorCode::kIo, "cannot read the folder {}: {}", quoted(folder), error.message());
  std::sort(indexes.begin(), indexes.end());
  std::sort(files.begin(), files.end());
  if (indexes.size() > 1)
    fail(ErrorCode::kUsage, "the folder {} holds several models: name one of {}", quoted(folder), listed(indexes));
  if (indexes.size() == 1) return open_index(folder / indexes[0]);
  if (files.empty())
    fail(ErrorCode::kNotFound, "the folder {} holds no *.safetensors file and no index of shards", quoted(folder));
  if (files.size() == 1) return open_tensor_file(folder / files[0]);
  if (is_whole_set(files)) return open_shards(folder / "", files, {});
  fail(ErrorCode::kUsage, "the folder {} holds several files that are not one set of shards: name one of {}",
       quoted(folder), listed(files));
}

}  // namespace

std::shared_ptr<const TensorFile> merge_tensor_files(const fs::path& path, std::vector<File> files,
                                                     const std::map<std::string, size_t>& weight_map) {
  if (files.empty()) fail(ErrorCode::kInternal, "{}: no files to merge", quoted(path));
  return std::make_shared<MergedFile>(path, std::move(files), weight_map);
}

std::shared_ptr<const TensorFile> open_tensor_files(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return open_folder(path);
  if (path.filename().string().ends_with(".index.json")) return open_index(path);
  return open_tensor_file(path);
}

}  // namespace gesso
