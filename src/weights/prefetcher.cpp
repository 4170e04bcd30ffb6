#include "weights/prefetcher.h"

#include <algorithm>

namespace gesso {

Prefetcher::Prefetcher(std::vector<const WeightData*> order, int64_t ahead) : order_(std::move(order)), ahead_(ahead) {
  for (size_t i = 0; i < order_.size(); ++i) places_.emplace(order_[i], i);
  if (!order_.empty()) thread_ = std::thread([this] { run(); });
}

Prefetcher::~Prefetcher() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  moved_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Prefetcher::observe(const OpCost& cost) {
  for (const Weight& weight : cost.weights) {
    const auto place = weight ? places_.find(weight.get()) : places_.end();
    if (place == places_.end()) continue;
    const std::lock_guard lock(mutex_);
    const size_t now = at_ % order_.size();
    // On to that place, round the end if need be: a run that begins anew goes on from there.
    at_ += place->second >= now ? place->second - now : order_.size() - now + place->second;
    ++at_;
    moved_.notify_one();
  }
}

void Prefetcher::run() {
  std::unique_lock lock(mutex_);
  int64_t under_way = 0;    // bytes asked for and not yet used
  size_t counted_from = 0;  // the first use that they are for
  const auto bytes = [&](size_t use) { return order_[use % order_.size()]->shape().elements() * 2; };
  while (!stop_) {
    if (asked_ < at_) {  // uses overtook the asking
      asked_ = counted_from = at_;
      under_way = 0;
    }
    for (; counted_from < at_; ++counted_from) under_way -= bytes(counted_from);
    if (asked_ - at_ < order_.size() && (asked_ == at_ || under_way + bytes(asked_) <= ahead_)) {
      const WeightData* next = order_[asked_ % order_.size()];
      under_way += bytes(asked_++);
      lock.unlock();
      next->will_need();  // may wait for the disk's queue
      lock.lock();
    } else {
      moved_.wait(lock);
    }
  }
}

}  // namespace gesso
