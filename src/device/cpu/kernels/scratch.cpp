#include "device/cpu/kernels/scratch.h"

#include <memory>
#include <new>

namespace gesso::cpu {
namespace {

constexpr std::align_val_t kAlignment{64};

class Buffer {
 public:
  void* at_least(size_t bytes) {
    if (bytes > size_) {
      data_.reset();  // first, so that both never exist together
      size_ = 0;
      data_.reset(::operator new(bytes, kAlignment));
      size_ = bytes;
    }
    return data_.get();
  }

 private:
  struct Free {
    void operator()(void* data) const { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<void, Free> data_;
  size_t size_ = 0;
};

}  // namespace

void* scratch(Scratch use, size_t bytes) {
  thread_local Buffer buffers[2];
  return buffers[static_cast<int>(use)].at_least(bytes);
}

}  // namespace gesso::cpu
