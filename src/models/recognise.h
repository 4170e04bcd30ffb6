#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/tensor_file.h"
#include "models/family.h"
#include "models/names/companions.h"
#include "models/names/network.h"

namespace gesso {

/// A tensor of a component and one of its placements (a fused tensor has several).
struct PlacedTensor {
  size_t tensor_index = 0;  ///< in the file
  Placement placement;      ///< for components that are recognised only, the name without the prefix
};

/// A network found in a file.
struct Component {
  const Family* family = nullptr;
  const Kind* kind = nullptr;
  Role role = Role::kDiffusionModel;
  std::string variant;                ///< empty: the plain one
  std::string scheme;                 ///< of its names: "LDM", "diffusers", "HF", "OpenCLIP", "BFL", "kohya" ...
  std::string prefix;                 ///< before its names in the file
  std::vector<PlacedTensor> tensors;  ///< in the order of the file
  size_t tensor_count = 0;
  size_t scaled_count = 0;  ///< tensors that have scales in tensors beside them
  int64_t parameters = 0;
  std::vector<std::pair<DType, size_t>> dtypes;  ///< how many tensors of each, in the order of DType
  /// Whether everything is there; nothing when this version does not know what belongs to it.
  std::optional<bool> complete;
  std::vector<std::string> missing;  ///< the first names that are not there (ours), at most kMaxMissing
  bool supported = false;            ///< this version can run it

  static constexpr size_t kMaxMissing = 8;
};

/// A tensor that belongs to no component and is not needed.
struct IgnoredTensor {
  size_t tensor_index = 0;
  std::string reason;
};

/// A tensor that says how the numbers of another one become its values.
struct Companion {
  size_t tensor_index = 0;
  size_t weight_index = 0;
  CompanionKind kind = CompanionKind::kScale;
};

/// A kind of component that the file resembles.
struct Nearest {
  const Family* family = nullptr;
  Role role = Role::kDiffusionModel;
  std::string prefix;
  size_t matched = 0;  ///< probes
  std::vector<std::string> missing;
};

/// What a file holds. Every tensor is placed in one component, the companion of another one, ignored with a reason, or
/// unknown.
struct Recognition {
  std::vector<Component> components;
  std::vector<Companion> companions;
  std::vector<IgnoredTensor> ignored;
  std::vector<size_t> unknown;       ///< indices of tensors that nothing explains
  std::vector<std::string> markers;  ///< what marker tensors say: "v_pred", "ztsnr", "alphas_cumprod" ...
  std::vector<Nearest> nearest;      ///< when there is no component: what the file is nearest to, at most three

  /// The first component of that role, or null.
  const Component* find(Role role) const;
  /// The component that says what the file is: the diffusion model when there is one, else the first; null when none.
  const Component* main() const;
};

/// Tells what a model file is from names, shapes and metadata alone, never from its file name. Reads no weights.
Recognition recognise(std::span<const TensorInfo> tensors, const std::map<std::string, std::string>& metadata);

}  // namespace gesso
