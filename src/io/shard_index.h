#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace gesso {

/// What a `*.index.json` says: the shard of every tensor.
struct ShardIndex {
  std::vector<std::string> shards;           ///< plain file names, sorted, each once
  std::map<std::string, size_t> weight_map;  ///< tensor name to index in `shards`
};

/// Reads an index of at most 64 MiB and a million tensors. Throws kBadFile naming the index and the entry for anything
/// but an object with a `weight_map` of strings, a key twice, or a shard name that leaves the folder.
ShardIndex read_shard_index(const std::filesystem::path& path);

}  // namespace gesso
