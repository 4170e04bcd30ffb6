#pragma once
#include <functional>
#include <map>
#include <memory>

#include "pipeline/model_files.h"
#include "weights/scaling.h"

namespace gesso {

/// How the numbers of those tensors of a file become values that have scales of their own and are `wanted`, by their
/// index. Throws as Scaling::read does; kBadFile when a weight has two scales; kUnsupported for scales of scales.
std::map<size_t, std::shared_ptr<const Scaling>> read_scalings(const ModelFile& file,
                                                               const std::function<bool(size_t weight)>& wanted);

}  // namespace gesso
