#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "io/tensor_file.h"

namespace gesso {

/// What the header of a file says whose tensors' bytes lie in it as they are.
struct TensorFileHeader {
  std::vector<TensorInfo> tensors;  ///< in the order of the header; `offset` counts from data_begin
  std::map<std::string, std::string> metadata;
  uint64_t data_begin = 0;  ///< where in the file the tensors' bytes begin
};

/// The tensors of a mapped file whose header was read and checked. `format` lives as long as the program.
std::shared_ptr<const TensorFile> make_tensor_file(std::shared_ptr<const MappedFile> file, std::string_view format,
                                                   TensorFileHeader header);

/// Checks that `t` has as many bytes as its shape and type need, with extents that can be multiplied without overflow
/// (those beside a zero too: who multiplies them later does not check again). Throws kBadFile.
void check_tensor_size(const TensorInfo& t, const std::filesystem::path& path);

/// Checks tensors, each of which passed check_tensor_size, together: no name twice, none beyond the end of the
/// file, in which data begin at `data_begin`, none overlapping another. Throws kBadFile.
void check_tensor_layout(std::span<const TensorInfo> tensors, uint64_t data_begin, uint64_t file_size,
                         const std::filesystem::path& path);

}  // namespace gesso
