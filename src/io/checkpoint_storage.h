#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "io/pickle.h"
#include "tensor/dtype.h"

namespace gesso {

/// A storage as the pickle of torch.save names it: ('storage', class, key, location, count[, view]).
struct StorageName {
  std::string_view type;  ///< the class, "torch.FloatStorage"
  std::string_view key;
  uint64_t count = 0;  ///< elements of the whole storage
  /// A part of the storage that stands for one of its own (files of torch before 0.4).
  struct View {
    uint64_t begin = 0, count = 0;  ///< elements
  };
  std::optional<View> view;
};

/// The storage that a persistent id names; nothing when it names none or is malformed. Protocol 0 has the tuple as
/// Python prints it (torch writes that, though it cannot read it back).
std::optional<StorageName> storage_name(const Pickle& pickle, const PickleValue& persistent);

/// The element type that a global stands for: a class of typed storages, "torch.HalfStorage",
/// "torch.cuda.FloatStorage", bytes for "torch.storage.UntypedStorage", or a dtype, "torch.float8_e4m3fn".
std::optional<DType> torch_dtype(std::string_view global);

}  // namespace gesso
