#pragma once
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "device/device.h"

namespace gesso {

/// A device without memory: the same forward, run here, tells what it would need. Not thread-safe.
class MetaDevice : public Device {
 public:
  std::string_view name() const override { return "meta"; }
  std::shared_ptr<Storage> allocate(int64_t bytes) override;

  int64_t peak_bytes() const { return peak_; }  ///< most activation bytes alive at once
  int64_t flops() const { return flops_; }
  int64_t traffic_bytes() const { return traffic_; }
  int64_t operations() const { return operations_; }
  /// Every parameter used, once, in the order of first use.
  const std::vector<const WeightData*>& weights() const { return order_; }
  int64_t weight_elements() const;

  void account(int64_t bytes);  ///< called by its storage

 protected:
  const Kernels* begin(const OpCost& cost) override;

 private:
  int64_t live_ = 0, peak_ = 0, flops_ = 0, traffic_ = 0, operations_ = 0;
  std::unordered_set<const WeightData*> seen_;
  std::vector<const WeightData*> order_;
};

}  // namespace gesso
