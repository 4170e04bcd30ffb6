#include "device/cpu/cpu_device.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "device/cpu/dnnl.h"
#include "device/cpu/isa.h"
#include "device/cpu/kernels/kernels.h"
#include "device/kernels.h"

namespace gesso {
namespace {

constexpr Kernels kKernels{
    .linear = cpu::linear,
    .conv2d = cpu::conv2d,
    .attention = cpu::attention,
    .group_norm = cpu::group_norm,
    .layer_norm = cpu::layer_norm,
    .modulated_norm = cpu::modulated_norm,
    .rms_norm = cpu::rms_norm,
    .rope = cpu::rope,
    .activate = cpu::activate,
    .add = cpu::add,
    .multiply = cpu::multiply,
    .scaled_add = cpu::scaled_add,
    .prelu = cpu::prelu,
    .gated_add = cpu::gated_add,
    .geglu = cpu::geglu,
    .concat = cpu::concat,
    .columns = cpu::columns,
    .patchify = cpu::patchify,
    .unpatchify = cpu::unpatchify,
    .upsample_nearest = cpu::upsample_nearest,
    .pad_circular = cpu::pad_circular,
    .cast = cpu::cast,
    .to_channels_last = cpu::to_channels_last,
    .to_channels_first = cpu::to_channels_first,
    .all_finite = cpu::all_finite,
};

/// Applied before oneDNN makes its first primitive; once a process.
IsaLevel isa_cap() {
  static const IsaLevel cap = [] {
    const IsaLevel level = requested_isa();
    apply_isa_cap(level);
    return level;
  }();
  return cap;
}

constexpr int64_t kHugePage = 2 << 20;

class CpuStorage : public Storage {
 public:
  CpuStorage(CpuDevice& device, void* data, int64_t bytes, int64_t capacity)
      : Storage(device, data, bytes), cpu_(device), capacity_(capacity) {}
  ~CpuStorage() override { cpu_.give_back(data(), capacity_); }

 private:
  CpuDevice& cpu_;
  int64_t capacity_;
};

int64_t round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

CpuDevice::CpuDevice() {
  (void)isa_cap();
}

bool CpuDevice::computes_bf16() const {
  return std::min(isa_cap(), detected_isa()) >= IsaLevel::kAvx512;
}

bool CpuDevice::prefers_bf16() const {
  return has_fast_bf16(isa_cap());
}

CpuDevice::~CpuDevice() {
  trim();
}

std::shared_ptr<Storage> CpuDevice::allocate(int64_t bytes) {
  const int64_t capacity =
      bytes >= kHugePage ? round_up(bytes, kHugePage) : round_up(std::max<int64_t>(bytes, 1), 4096);
  const std::lock_guard lock(mutex_);
  void* data = nullptr;
  int64_t got = capacity;
  // A free block serves when at most a quarter of it would lie idle.
  if (const auto found = free_.lower_bound(capacity); found != free_.end() && found->first <= capacity + capacity / 4) {
    got = found->first;
    data = found->second;
    free_.erase(found);
  } else {
    data = std::aligned_alloc(capacity >= kHugePage ? kHugePage : 64, static_cast<size_t>(capacity));
    if (!data && !free_.empty()) {
      for (const auto& [size, block] : free_) std::free(block);
      free_.clear();
      data = std::aligned_alloc(64, static_cast<size_t>(capacity));
    }
    if (!data) {
      const int64_t available = static_cast<int64_t>(::sysconf(_SC_AVPHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
      fail(ErrorCode::kOutOfMemory,
           "out of memory: {:.1f} MiB more are needed, {:.1f} MiB are in use and about {:.1f} MiB free; try a smaller "
           "picture or a smaller --memory budget",
           static_cast<double>(bytes) / 1048576, static_cast<double>(in_use_) / 1048576,
           static_cast<double>(available) / 1048576);
    }
    if (capacity >= kHugePage) ::madvise(data, static_cast<size_t>(capacity), MADV_HUGEPAGE);
  }
  in_use_ += got;
  peak_ = std::max(peak_, in_use_);
  return std::make_shared<CpuStorage>(*this, data, bytes, got);
}

void CpuDevice::give_back(void* data, int64_t capacity) {
  const std::lock_guard lock(mutex_);
  in_use_ -= capacity;
  free_.emplace(capacity, data);
}

void CpuDevice::trim() {
  const std::lock_guard lock(mutex_);
  for (const auto& [size, block] : free_) std::free(block);
  free_.clear();
}

void CpuDevice::give_memory_back() {
  trim();
#ifdef __GLIBC__
  ::malloc_trim(0);  // blocks under 32 MiB come from its heap, which has holes and keeps them
#endif
}

const Kernels* CpuDevice::begin(const OpCost& cost) {
  if (interrupted_ && interrupted_()) fail(ErrorCode::kCancelled, "cancelled");
  for (Observer* observer : observers_) observer->observe(cost);
  if (profile_) profile_->begin();
  return &kKernels;
}

void CpuDevice::end(const OpCost& cost) {
  if (profile_) profile_->end(cost);
  if (!streaming_) return;
  for (const Weight& weight : cost.weights)
    if (weight && !kept_.contains(weight.get())) weight->release();
}

}  // namespace gesso
