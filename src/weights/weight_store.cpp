#include "weights/weight_store.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "base/error.h"
#include "base/files.h"
#include "weights/file_weight.h"

namespace gesso {
namespace {

/// The extents without leading and trailing ones.
std::span<const int64_t> trimmed(const Shape& shape) {
  const int64_t *begin = shape.begin(), *end = shape.end();
  while (begin != end && *begin == 1) ++begin;
  while (begin != end && end[-1] == 1) --end;
  return {begin, end};
}

bool same_up_to_outer_ones(const Shape& a, const Shape& b) {
  return std::ranges::equal(trimmed(a), trimmed(b));
}

const TensorInfo& info(const Binding& binding) {
  return binding.file->tensors()[binding.tensor];
}

}  // namespace

void WeightStore::bind(const std::string& name, Binding binding) {
  const TensorInfo& tensor = info(binding);
  if (binding.parts > 1 && (tensor.shape.rank() == 0 || tensor.shape[0] % binding.parts != 0))
    fail(ErrorCode::kBadFile, "tensor '{}' of {}: {} rows do not divide into {} parts", tensor.name,
         quoted(binding.file->path()), tensor.shape.rank() ? tensor.shape[0] : 1, binding.parts);
  if (binding.transpose && tensor.shape.rank() != 2)
    fail(ErrorCode::kBadFile, "tensor '{}' of {}: wanted a matrix, found {}", tensor.name, quoted(binding.file->path()),
         to_string(tensor.shape));
  const auto [at, added] = bindings_.emplace(name, std::move(binding));
  if (!added)
    fail(ErrorCode::kBadFile, "two tensors for {} of the {}: '{}' of {} and '{}'; give only one of them", name,
         component_, info(at->second).name, quoted(at->second.file->path()), tensor.name);
}

std::optional<Shape> WeightStore::shape(const std::string& name) const {
  const auto found = bindings_.find(name);
  if (found == bindings_.end()) return std::nullopt;
  const Binding& binding = found->second;
  Shape shape = info(binding).shape;
  if (binding.parts > 1) shape.set(0, shape[0] / binding.parts * binding.span);
  if (binding.transpose) shape = {shape[1], shape[0]};
  return shape;
}

Weight WeightStore::get(const std::string& name, const Shape& wanted) {
  const auto found = shape(name);
  if (!found) missing(name, " of shape " + to_string(wanted));
  const Binding& binding = bindings_.at(name);
  if (!same_up_to_outer_ones(*found, wanted))
    fail(ErrorCode::kBadFile, "tensor '{}' of {} ({} of the {}): wanted the shape {}, found {}", info(binding).name,
         quoted(binding.file->path()), name, component_, to_string(wanted), to_string(*found));
  Weight& weight = made_[name];
  if (!weight) weight = std::make_shared<FileWeight>(name, wanted, binding);
  return weight;
}

void WeightStore::missing(const std::string& name, const std::string& detail) const {
  const std::string where = bindings_.empty() ? "" : " in " + quoted(bindings_.begin()->second.file->path());
  fail(ErrorCode::kBadFile, "the {} lacks the tensor '{}'{}{}: the file is incomplete or of another kind", component_,
       name, detail, where);
}

std::vector<std::string> WeightStore::unused() const {
  std::vector<std::string> names;
  for (const auto& [name, binding] : bindings_)
    if (!made_.contains(name)) names.push_back(name);
  return names;
}

std::vector<std::string> WeightStore::names() const {
  std::vector<std::string> names;
  for (const auto& [name, binding] : bindings_) names.push_back(name);
  return names;
}

void WeightStore::release() const {
  for (const auto& [name, weight] : made_) weight->release();
}

std::optional<std::string> WeightStore::metadata(const std::string& key) const {
  if (const auto found = metadata_.find(key); found != metadata_.end()) return found->second;
  const TensorFile* last = nullptr;
  for (const auto& [name, binding] : bindings_) {
    if (binding.file.get() == last) continue;
    last = binding.file.get();
    if (const auto found = last->metadata().find(key); found != last->metadata().end()) return found->second;
  }
  return std::nullopt;
}

int64_t WeightStore::metadata_int(const std::string& key, int64_t otherwise, int64_t low, int64_t high) const {
  const auto text = metadata(key);
  if (!text) return otherwise;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value < low || value > high)
    fail(ErrorCode::kBadFile, "metadata '{}' of the {}: wanted a whole number from {} to {}, found '{}'", key,
         component_, low, high, *text);
  return value;
}

WeightScope WeightScope::operator/(std::string_view name) const {
  return WeightScope(*store_, prefix_.empty() ? std::string(name) : prefix_ + "." + std::string(name));
}

int64_t WeightScope::extent(std::string_view name, int axis) const {
  const auto found = shape(name);
  if (!found) store_->missing((*this / name).prefix_, "");
  if (axis >= found->rank())
    fail(ErrorCode::kBadFile, "tensor '{}' of the {}: wanted more than {} dimensions, found {}", (*this / name).prefix_,
         store_->component(), axis, to_string(*found));
  return (*found)[axis];
}

int WeightScope::count(std::string_view name, std::string_view key) const {
  int n = 0;
  while ((*this / name / n).has(key)) ++n;
  return n;
}

}  // namespace gesso
