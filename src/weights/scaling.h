#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "io/tensor_file.h"

namespace gesso {

/// How the stored numbers of a weight become its values where the type alone does not say it: they are multiplied by
/// scales, and what was rotated before it was rounded is rotated back.
///
/// A scale is of the whole tensor, of a row, or of a block of rows and columns. The rotation is that of ConvRot
/// (arXiv:2512.03673): each run of `group` values of a row is multiplied by a normalised regular Hadamard matrix, the
/// Kronecker power of a symmetric 4 x 4 one, and is therefore its own inverse.
class Scaling {
 public:
  /// Indices in file.tensors(). `format` is ComfyUI's JSON of a weight ({"format": "int8_tensorwise", "convrot": true,
  /// "convrot_groupsize": 256}), or empty. Throws kBadFile for scales that are missing, do not fit the weight or are
  /// not finite and for a text that is not what it should be, kUnsupported for formats that this version does not read,
  /// each naming file and tensor.
  static std::shared_ptr<const Scaling> read(const TensorFile& file, size_t weight, std::optional<size_t> scale,
                                             std::string_view format);

  /// The values of elements [begin, begin + count) of the weight, whose stored bytes are `source`.
  void to_f32(DType from, const std::byte* source, int64_t begin, float* target, int64_t count) const;

 private:
  void multiply(float* values, int64_t begin, int64_t count) const;

  int64_t width_ = 1;                         ///< elements of a row: all but the first extent
  int64_t block_rows_ = 1, block_width_ = 1;  ///< that share a scale
  int64_t blocks_in_row_ = 1;
  int64_t group_ = 1;  ///< values that are rotated together; 1: none
  std::vector<float> scales_;
};

}  // namespace gesso
