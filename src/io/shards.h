#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/tensor_file.h"

namespace gesso {

/// Opens what a user named as one model: a file, a shard index (`*.index.json`) or a folder.
///
/// - A file is opened by its content, as open_tensor_file does.
/// - An index names the shard of each tensor in its `weight_map`. Shards lie beside the index: a shard name that is
///   not a plain file name (`../x`, `/x`, `a/b`) is refused, missing shards are listed. A key that stands twice in the
///   map is refused. Every tensor of every shard is part of the result; one that two shards hold is taken from the
///   shard that the map names for it.
/// - A folder holds one `*.safetensors.index.json`, or one `*.safetensors`, or all parts of a set named
///   `name-00001-of-00003.safetensors`. Anything else is refused with the list of candidates.
///
/// The result of several shards is one TensorFile: tensors in the order of the shards' names, metadata joined (the
/// first shard's value wins). Throws as open_tensor_file does.
std::shared_ptr<const TensorFile> open_tensor_files(const std::filesystem::path& path);

/// The files that together make one model, merged; `path` stands for them in messages. `weight_map` (tensor name to
/// index in `files`) decides where a tensor that several files hold is taken from; without an entry it is refused.
std::shared_ptr<const TensorFile> merge_tensor_files(const std::filesystem::path& path,
                                                     std::vector<std::shared_ptr<const TensorFile>> files,
                                                     const std::map<std::string, size_t>& weight_map = {});

}  // namespace gesso
