#pragma once
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/names/network.h"
#include "models/recognise.h"

namespace gesso {

/// How the tensors of a file that is written are named.
enum class Layout {
  kLdm,        ///< as in the checkpoints of the networks' first code: one file, a prefix for each component
  kDiffusers,  ///< as in diffusers, components under the names of their folders
};

/// Prefix and naming of a component in a layout.
struct OutputNaming {
  std::string prefix;
  std::string_view scheme;
};

/// How a component is named beside the others of `all`, itself among them; alone it has no prefix.
OutputNaming output_naming(Layout layout, const Component& component, std::span<const Component* const> all);

/// The tensors of a component with these names (ours) in the layout, with the prefix. Throws kUnsupported when the
/// component has no names in the layout, or one of its tensors has none, naming it.
std::vector<Renamed> output_names(const OutputNaming& naming, const Component& component,
                                  const std::set<std::string>& ours);

/// What stands before our names of a component where several make one file: "model.diffusion_model.",
/// "first_stage_model.", "text_encoders.clip_l.transformer." ...
std::string file_prefix(Role role);

/// Whether a tensor with this name (ours) is a kernel of 1 x 1 in the first code's files and a matrix in diffusers'.
bool is_kernel_or_matrix(const Component& component, std::string_view name);

}  // namespace gesso
