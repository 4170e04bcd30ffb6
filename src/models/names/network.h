#pragma once
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/names/names.h"
#include "models/names/pattern.h"

namespace gesso {

/// Where a tensor of a file goes: the name the model code uses, and what of the tensor it is.
struct Placement {
  std::string name;
  int part = 0;  ///< the tensor holds `parts` weights of equal height one below the other; this is number `part`
  int parts = 1;
  bool transpose = false;  ///< stored as [in, out]
  int span = 1;            ///< how many of the parts, from `part` on
  bool operator==(const Placement&) const = default;
};

/// The placements of one tensor; none when the name is not one of the network's.
using Place = std::function<std::vector<Placement>(std::string_view name)>;

/// A layer within a block: its name in another tool and ours (patterns, `#` once at most), with `.weight` and, where it
/// has one, `.bias` to follow. Empty names are for blocks that are a single layer.
struct Leaf {
  std::string_view theirs;
  std::string_view ours;
  bool bias = true;
  bool optional = false;  ///< a block may lack it (a shortcut between equal widths)
};

/// A block of a network in our names: the grammar that a file in these names follows.
struct Site {
  std::string_view pattern;
  std::span<const Leaf> leaves;
  /// When any name begins so, this block must be there too; empty: it may be absent.
  std::string_view needed_with = "";
};

/// How another tool calls a block. `to` may contain $1..$9, the numbers matched by `from`, and other $ slots, which the
/// caller computes. The first rule that fits a name decides.
struct Rule {
  std::string_view from;
  std::string_view to;
  std::span<const Leaf> leaves;
};

/// A part of a tensor that another tool fuses: the layer it belongs to, and how many times as high as the first part.
struct Part {
  std::string_view layer;
  int height = 1;
};

/// A fused layer: its pattern up to the parameter, and the block its parts go to (with $1..$9).
struct Fused {
  std::string_view from;
  std::string_view to;
  std::span<const Part> parts;
};

/// Computes a $ slot of a rule from the numbers matched so far; nothing when the name is out of range.
using Slot = std::function<std::optional<int>(char slot, const Numbers& numbers)>;

/// A tensor in another tool's naming, and what it holds, one below the other.
struct Renamed {
  std::string name;
  std::vector<Placement> parts;
};

/// One way of naming the tensors of a network.
struct Naming {
  std::string_view scheme;               ///< "LDM", "diffusers", "HF", "OpenCLIP"
  std::vector<std::string_view> probes;  ///< names that are there when this naming is used
  Place (*place)(const Names& names);    ///< for the names of one file: layouts are read from them
  /// The way back: the tensors that a network with these names (ours) has in this naming; null where nothing is written
  /// in it. Names that the naming has no place for are in none of them.
  std::vector<Renamed> (*rename)(const std::set<std::string>& ours) = nullptr;
};

/// A network that model code is built for: its grammar in our names, and the other namings of the same tensors.
struct Network {
  std::string_view name;
  std::span<const Site> sites;
  std::vector<Naming> namings;  ///< in order of preference
  /// What else must be there, given all names in ours; null when the sites say it all.
  std::vector<std::string> (*also_missing)(const std::set<std::string>& names) = nullptr;
  /// Beginnings of our names of matrices that the first code of the network stored as kernels of 1 x 1, and diffusers
  /// as matrices.
  std::vector<std::string_view> kernels = {};
  /// Layers that weigh little and lose much when they are stored in few bits: beginnings of our names, patterns.
  std::vector<std::string_view> sensitive = {};
};

/// The identity for names that follow the grammar, nothing for others.
std::vector<Placement> place_as_is(std::span<const Site> sites, std::string_view name);

/// The placement that the first fitting rule gives, or nothing.
std::vector<Placement> place_by_rules(std::span<const Rule> rules, std::string_view name, const Slot& slot = {});

/// The parts of a weight or bias that one of the rows fuses, or nothing.
std::vector<Placement> place_fused(std::span<const Fused> rows, std::string_view name);

/// The whole tensor under the name `to` (with $1..$9) when `from` matches, or nothing.
std::vector<Placement> place_renamed(std::string_view from, std::string_view to, std::string_view name);

/// Whether a tensor with this name (ours) belongs to a layer that is better kept as it is stored.
bool is_sensitive(const Network& network, std::string_view name);

/// What is missing from a network whose tensors have these names (ours): layers of blocks that are there in part, gaps
/// in stacks ("input_blocks.5.*"), blocks that must be there. In the order of the grammar.
std::vector<std::string> missing_names(const Network& network, const std::set<std::string>& names);

}  // namespace gesso
