#pragma once
#include <string_view>

namespace gesso {

/// A tensor that may lie in a file without being part of any network.
struct Ignorable {
  std::string_view reason;  ///< why nothing is lost, for a person
  /// What the presence of the tensor says about the model, for code that decides on it ("v_pred"); or empty.
  std::string_view marker;
};

/// Copies of networks that are not to be taken for them: the moving average of a training run beside the weights.
/// Null when the tensor is not one.
const Ignorable* find_copy(std::string_view name);

/// Buffers, counters and markers that no network claims; null when the tensor is none.
const Ignorable* find_ignorable(std::string_view name);

}  // namespace gesso
