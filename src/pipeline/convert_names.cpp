// Tensors under the names of another layout: fused where it fuses, cut where it cuts, turned where it turns.
#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "io/printable.h"
#include "models/names/ignorable.h"
#include "models/output_names.h"
#include "pipeline/convert_work.h"

namespace gesso {
namespace {

/// One of our parameters: where its values come from, and its shape.
struct Parameter {
  ConvertSource source;
  Shape shape;
  DType type;  ///< that it counts as
};

Parameter parameter(const ModelFile& file, const PlacedTensor& placed, const ScaledWeights& scaled) {
  const Placement& p = placed.placement;
  auto [source, type] = scaled.source(file, placed.tensor_index);
  Shape shape = source.tensor->shape;
  if (p.parts > 1) {
    if (shape.rank() == 0 || shape[0] % p.parts != 0)
      fail(ErrorCode::kBadFile, "tensor {} of {}: {} does not divide into {} parts", printable(source.tensor->name),
           quoted(file.file->path()), to_string(shape), p.parts);
    source.begin = source.count / p.parts * p.part;
    source.count = source.count / p.parts * p.span;
    shape.set(0, shape[0] / p.parts * p.span);
  }
  if (p.transpose) {
    if (shape.rank() != 2)
      fail(ErrorCode::kBadFile, "tensor {} of {}: wanted a matrix, found {}", printable(source.tensor->name),
           quoted(file.file->path()), to_string(shape));
    source.turned = shape;
    shape = {shape[1], shape[0]};
  }
  return {std::move(source), shape, type};
}

/// The parameter stored the other way round.
Parameter turned(Parameter p) {
  if (p.source.turned.rank() > 0)
    p.source.turned = {};
  else
    p.source.turned = p.shape;
  p.shape = {p.shape[1], p.shape[0]};
  return p;
}

/// [o, i] and [o, i, 1, 1] are the same.
Shape as_kernel_or_matrix(Layout layout, const Shape& shape) {
  if (layout == Layout::kLdm && shape.rank() == 2) return {shape[0], shape[1], 1, 1};
  if (layout == Layout::kDiffusers && shape.rank() == 4 && shape[2] == 1 && shape[3] == 1) return {shape[0], shape[1]};
  return shape;
}

/// Puts the parts of a tensor below one another. Parts of several types count as F32.
ConvertItem united(const Renamed& renamed, const Component& component, std::map<std::string, Parameter>& parameters,
                   Layout layout) {
  ConvertItem item;
  item.to.name = renamed.name;
  for (const Placement& part : renamed.parts) {
    Parameter p = parameters.at(part.name);
    if (part.transpose) p = turned(std::move(p));
    if (is_kernel_or_matrix(component, part.name)) p.shape = as_kernel_or_matrix(layout, p.shape);
    if (item.sources.empty()) {
      item.to.shape = p.shape;
      item.to.dtype = p.type;
    } else {
      Shape grown = item.to.shape;
      grown.set(0, p.shape[0]);
      if (!(grown == p.shape))
        fail(ErrorCode::kBadFile, "tensor {} of {} is {}, which cannot stand below {} in {}",
             printable(p.source.tensor->name), quoted(p.source.file->path()), to_string(p.shape),
             to_string(item.to.shape), printable(renamed.name));
      item.to.shape.set(0, item.to.shape[0] + p.shape[0]);
      if (p.type != item.to.dtype) item.to.dtype = DType::kF32;
    }
    item.ours.push_back(file_prefix(component.role) + part.name);
    item.sources.push_back(std::move(p.source));
  }
  // Blocks cannot be cut or turned: what they stand for counts as F16.
  if (is_block(item.to.dtype) && !item.is_copied()) item.to.dtype = DType::kF16;
  return item;
}

void add_component(const ConvertRequest& request, const ModelFile& file, const Component& component,
                   std::span<const Component* const> all, const ScaledWeights& scaled, ConvertWork& work) {
  const OutputNaming naming = output_naming(*request.names, component, all);
  if (component.complete == false)
    fail(ErrorCode::kBadFile, "names: the {} in {} is incomplete, it lacks {}; give a whole one",
         title_of(component.role), quoted(file.file->path()), component.missing.front());
  std::map<std::string, Parameter> parameters;
  std::set<std::string> ours;
  for (const PlacedTensor& placed : component.tensors) {
    parameters.emplace(placed.placement.name, parameter(file, placed, scaled));
    ours.insert(placed.placement.name);
  }
  for (const Renamed& renamed : output_names(naming, component, ours)) {
    const bool sensitive = std::ranges::any_of(
        renamed.parts, [&](const Placement& p) { return is_sensitive(*component.kind->network, p.name); });
    add_item(request, united(renamed, component, parameters, *request.names), sensitive, work);
  }
}

/// What belongs to no component keeps its name; what is computed anyway is left out.
void add_others(const ConvertRequest& request, const ModelFile& file, const ScaledWeights& scaled, ConvertWork& work) {
  const auto keep = [&](size_t tensor) {
    auto [source, type] = scaled.source(file, tensor);
    const TensorInfo& info = file.file->tensors()[tensor];
    add_item(request, {.sources = {std::move(source)}, .to = {info.name, type, info.shape, 0, 0}}, false, work);
  };
  for (const size_t tensor : file.recognition.unknown) keep(tensor);
  size_t left = 0;
  for (const IgnoredTensor& ignored : file.recognition.ignored) {
    const Ignorable* known = find_ignorable(file.file->tensors()[ignored.tensor_index].name);
    if (known && !known->marker.empty() && !scaled.left.contains(ignored.tensor_index))
      keep(ignored.tensor_index);
    else
      ++left;
  }
  if (left > 0)
    work.notes.push_back(
        fmt::format("{} tensors of {} that no network reads are left out", left, quoted(file.file->path())));
}

}  // namespace

void add_renamed_items(const ConvertRequest& request, ConvertWork& work) {
  std::vector<const Component*> all;
  for (const ModelFile& file : work.files)
    for (const Component& component : file.recognition.components) {
      if (std::ranges::any_of(all, [&](const Component* c) { return c->role == component.role; }))
        fail(ErrorCode::kUsage, "names: there are two components that are a {}, the second in {}; give only one",
             title_of(component.role), quoted(file.file->path()));
      all.push_back(&component);
    }
  if (all.empty())
    fail(ErrorCode::kUnsupported, "names: {} holds nothing that this version knows",
         quoted(work.files.front().file->path()));
  for (const ModelFile& file : work.files) {
    const ScaledWeights scaled = plan_scaled_weights(request, file, true, work);
    carry_metadata(file, scaled.applied.empty(), work);
    for (const Component& component : file.recognition.components)
      add_component(request, file, component, all, scaled, work);
    add_others(request, file, scaled, work);
  }
}

}  // namespace gesso
