#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/tensor_file.h"
#include "tensor/weight.h"
#include "weights/scaling.h"

namespace gesso {

/// Where the values of one parameter lie: a tensor of a file, or a run of its rows (a fused q, k, v projection read as
/// three), stored as wanted or transposed.
struct Binding {
  std::shared_ptr<const TensorFile> file;
  size_t tensor = 0;  ///< index in file->tensors()
  int part = 0, parts = 1;
  bool transpose = false;
  int span = 1;                                      ///< parts from `part` on
  std::shared_ptr<const Scaling> scaling = nullptr;  ///< of the whole tensor; null where its numbers are its values
};

/// The parameters of one component under their canonical names.
class WeightStore {
 public:
  explicit WeightStore(std::string component) : component_(std::move(component)) {}

  /// Gives a name its values. A name bound twice is an error naming both sources.
  void bind(const std::string& name, Binding binding);
  bool has(const std::string& name) const { return bindings_.contains(name); }
  /// The extents of a parameter after its binding is applied; nothing when it is not there.
  std::optional<Shape> shape(const std::string& name) const;
  /// The parameter, whose shape must equal `wanted` up to leading and trailing ones ([c, c] and [c, c, 1, 1]). Throws
  /// kBadFile naming file, tensor, and both shapes, or what is missing.
  Weight get(const std::string& name, const Shape& wanted);
  /// The error of a parameter that should be there and is not.
  [[noreturn]] void missing(const std::string& name, const std::string& detail) const;
  /// Names bound but never asked for.
  std::vector<std::string> unused() const;
  std::vector<std::string> names() const;
  size_t size() const { return bindings_.size(); }
  /// Drops what devices prepared from the weights (they are prepared again at the next use).
  void release() const;
  /// Metadata from beside the files (a config.json), which goes before theirs.
  void set_metadata(const std::string& key, const std::string& value) { metadata_[key] = value; }
  /// Metadata of the files, for what shapes cannot tell; the first file that has the key wins.
  std::optional<std::string> metadata(const std::string& key) const;
  /// A whole number from the metadata, or `otherwise`; kBadFile when it is there and is no number in [low, high].
  int64_t metadata_int(const std::string& key, int64_t otherwise, int64_t low, int64_t high) const;
  const std::string& component() const { return component_; }
  /// The weights that were asked for, by their names.
  const std::map<std::string, Weight>& made() const { return made_; }
  /// What stands before the component's names in a file that holds a whole model.
  const std::string& file_prefix() const { return file_prefix_; }
  void set_file_prefix(std::string prefix) { file_prefix_ = std::move(prefix); }

 private:
  std::string component_, file_prefix_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, Binding> bindings_;
  std::map<std::string, Weight> made_;
};

/// A name prefix in a store: `scope / "attn1" / "to_q"`.
class WeightScope {
 public:
  explicit WeightScope(WeightStore& store, std::string prefix = "") : store_(&store), prefix_(std::move(prefix)) {}

  WeightScope operator/(std::string_view name) const;
  WeightScope operator/(int index) const { return *this / std::string_view(std::to_string(index)); }
  /// True when some parameter of exactly this name is there.
  bool has(std::string_view name) const { return store_->has((*this / name).prefix_); }
  std::optional<Shape> shape(std::string_view name) const { return store_->shape((*this / name).prefix_); }
  Weight get(std::string_view name, const Shape& wanted) const { return store_->get((*this / name).prefix_, wanted); }
  /// One extent of a parameter that must be there; kBadFile naming it otherwise.
  int64_t extent(std::string_view name, int axis) const;
  /// How many of name.0.key, name.1.key, ... are there in a row.
  int count(std::string_view name, std::string_view key) const;
  /// Null when it is not there.
  Weight find(std::string_view name, const Shape& wanted) const { return has(name) ? get(name, wanted) : nullptr; }
  WeightStore& store() const { return *store_; }
  const std::string& prefix() const { return prefix_; }

 private:
  WeightStore* store_;
  std::string prefix_;
};

}  // namespace gesso
