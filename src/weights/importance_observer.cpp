#include "weights/importance_observer.h"

#include <cmath>
#include <string_view>

#include "base/threads.h"

namespace gesso {

void ImportanceObserver::observe(const OpCost& cost) {
  if (cost.op != std::string_view("linear") || !cost.x || cost.weights.empty() || !cost.weights[0]) return;
  const Tensor& x = *cost.x;
  const int64_t columns = x.dim(-1), rows = columns > 0 ? x.elements() / columns : 0;
  const bool halves = x.dtype() == DType::kBF16;
  if (rows == 0 || (!halves && x.dtype() != DType::kF32)) return;
  Importance& importance = sums_[cost.weights[0].get()];
  importance.sums.resize(static_cast<size_t>(columns));
  importance.rows += rows;
  ++importance.calls;
  double* sums = importance.sums.data();
  const void* data = x.data<std::byte>();
  // A thread has columns of its own, so that each sum is made in the order of the rows.
  parallel_for(columns, 64, [=](int64_t begin, int64_t end) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t c = begin; c < end; ++c) {
        const int64_t i = row * columns + c;
        const double value =
            halves ? bf16_to_f32(static_cast<const uint16_t*>(data)[i]) : static_cast<const float*>(data)[i];
        if (std::isfinite(value)) sums[c] += value * value;  // what overflowed is computed again in f32
      }
  });
}

void ImportanceObserver::collect(const WeightStore& store, Imatrix& imatrix) {
  Imatrix found;
  for (const auto& [name, weight] : store.made())
    if (const auto summed = sums_.find(weight.get()); summed != sums_.end()) {
      found.entries.emplace(store.file_prefix() + name, std::move(summed->second));
      sums_.erase(summed);
    }
  imatrix.merge(found);
}

}  // namespace gesso
