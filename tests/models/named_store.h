#pragma once
#include <memory>
#include <string>

#include "io/tensor_file.h"
#include "models/recognise.h"
#include "weights/weight_store.h"

namespace gesso {

/// The component of that role in a file, under our names, as the pipeline binds it; null when there is none.
inline std::unique_ptr<WeightStore> named_store(const std::shared_ptr<const TensorFile>& file, Role role) {
  const Recognition recognition = recognise(file->tensors(), file->metadata());
  const Component* component = recognition.find(role);
  if (!component) return nullptr;
  auto store = std::make_unique<WeightStore>(std::string(title_of(role)));
  for (const auto& [index, p] : component->tensors)
    store->bind(p.name, {file, index, p.part, p.parts, p.transpose, p.span});
  return store;
}

}  // namespace gesso
