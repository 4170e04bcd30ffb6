#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "device/device.h"

namespace gesso {

/// Has the system read weights from their files ahead of their use: while an operation runs, what the next ones need
/// is on its way. Weights are used in one order again and again, as a run on the meta device recorded it.
class Prefetcher : public Observer {
 public:
  /// `order` are weights that are read anew for each use, with the bytes that each takes in its file; they outlive the
  /// prefetcher. At most `ahead` bytes (the next weight at least) are asked for before they are used.
  Prefetcher(std::vector<const WeightData*> order, int64_t ahead);
  ~Prefetcher() override;

  void observe(const OpCost& cost) override;

 private:
  void run();

  const std::vector<const WeightData*> order_;
  const int64_t ahead_;
  std::unordered_map<const WeightData*, size_t> places_;
  std::mutex mutex_;
  std::condition_variable moved_;
  size_t at_ = 0;     ///< uses so far: at_ % order_.size() is the next one's place
  size_t asked_ = 0;  ///< of them, asked for
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace gesso
