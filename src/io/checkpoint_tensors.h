#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "io/pickle.h"
#include "io/tensor_file.h"

namespace gesso {

/// A tensor of a PyTorch checkpoint: a window of a storage, which several tensors may share.
struct CheckpointTensor {
  TensorInfo info;  ///< `offset` counts from the beginning of the file
  std::array<int64_t, Shape::kMaxRank> strides{};
  bool contiguous = true;     ///< its bytes stand in the file as [offset, offset + bytes)
  uint64_t window_bytes = 0;  ///< from `offset` to behind its last element
};

/// Where the bytes of a storage lie in the file.
struct StorageSpan {
  uint64_t offset = 0, bytes = 0;
};
/// Finds a storage by its key; throws Error when there is none. `count` elements of `element_size` bytes are claimed.
using FindStorage = std::function<StorageSpan(std::string_view key, uint64_t count, uint64_t element_size)>;

struct CheckpointTensors {
  std::vector<CheckpointTensor> tensors;
  std::vector<std::string> notes;  ///< what was taken and what was left, for a person
};

/// The tensors that the pickle of torch.save holds, under their names.
///
/// Dicts and lists inside each other are unfolded: {"a": {"b": [t]}} has the tensor `a.b.0`. When the outermost dict is
/// a training checkpoint, the weights inside are taken without the name of the entry: the first of params_ema,
/// ema_state_dict, state_dict_ema, model_ema, ema, state_dict, model_state_dict, params, model, module, generator, net,
/// weights that holds tensors, and more of them than stand beside it directly. `notes` says so, and what was left.
///
/// Calls mean something only when they are those of torch's own tensors and of ordered dicts; any other object is kept
/// as an inert record and reported, never made. Refused, each naming the global: a call to what runs programs or code
/// (kBadFile), and a tensor of a kind that is not known (kUnsupported). A tensor may be larger than its storage
/// (strides of 0) only up to 1 MiB. Throws kBadFile, or kUnsupported, naming the tensor.
CheckpointTensors collect_tensors(const Pickle& pickle, const FindStorage& find_storage,
                                  const std::filesystem::path& path);

}  // namespace gesso
