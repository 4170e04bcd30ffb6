#pragma once
#include <map>

#include "device/device.h"
#include "io/imatrix.h"
#include "weights/weight_store.h"

namespace gesso {

/// Sums the squares of what the weights of a device's linear operations are multiplied by. The same sums for any number
/// of threads.
class ImportanceObserver : public Observer {
 public:
  void observe(const OpCost& cost) override;
  /// Moves what was summed for the store's weights into `imatrix`, under their names with the store's file prefix.
  void collect(const WeightStore& store, Imatrix& imatrix);

 private:
  std::map<const WeightData*, Importance> sums_;
};

}  // namespace gesso
