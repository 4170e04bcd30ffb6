#include "device/meta/meta_device.h"

#include <algorithm>

namespace gesso {
namespace {

class MetaStorage : public Storage {
 public:
  MetaStorage(MetaDevice& device, int64_t bytes) : Storage(device, nullptr, bytes), meta_(device) {
    meta_.account(bytes);
  }
  ~MetaStorage() override { meta_.account(-bytes()); }

 private:
  MetaDevice& meta_;
};

}  // namespace

std::shared_ptr<Storage> MetaDevice::allocate(int64_t bytes) {
  return std::make_shared<MetaStorage>(*this, bytes);
}

void MetaDevice::account(int64_t bytes) {
  live_ += bytes;
  peak_ = std::max(peak_, live_);
}

const Kernels* MetaDevice::begin(const OpCost& cost) {
  flops_ += cost.flops;
  traffic_ += cost.bytes;
  ++operations_;
  for (const Weight& w : cost.weights)
    if (w && seen_.insert(w.get()).second) order_.push_back(w.get());
  return nullptr;
}

int64_t MetaDevice::weight_elements() const {
  int64_t count = 0;
  for (const WeightData* w : order_) count += w->shape().elements();
  return count;
}

}  // namespace gesso
