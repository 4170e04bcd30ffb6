#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "device/device.h"
#include "device/profile.h"

namespace gesso {

/// The processor. Memory comes from a pool, so that the activations of one step reuse those of the last.
class CpuDevice : public Device {
 public:
  /// The first one of a process caps the instruction set as GESSO_ISA says; kUsage when it says nothing known.
  CpuDevice();
  ~CpuDevice() override;

  std::string_view name() const override { return "cpu"; }
  std::shared_ptr<Storage> allocate(int64_t bytes) override;

  /// Whether dense products run in bf16 at all, and whether they are faster than in f32.
  bool computes_bf16() const;
  bool prefers_bf16() const;
  /// Asked before every operation; when it answers true, the operation throws kCancelled. Set while no work runs.
  void set_interrupt(std::function<bool()> interrupted) { interrupted_ = std::move(interrupted); }
  /// Whether to drop what an operation prepared from its weights as soon as it is done, except those in `kept`: slow,
  /// but of the others only one at a time is in memory.
  void set_streaming(bool streaming, std::unordered_set<const WeightData*> kept = {}) {
    streaming_ = streaming;
    kept_ = std::move(kept);
  }
  /// Books the time of every operation from now on; null: none. The profile outlives its use.
  void set_profile(Profile* profile) { profile_ = profile; }
  /// Shows every operation from now on to the observers, which outlive their use.
  void set_observers(std::vector<Observer*> observers) { observers_ = std::move(observers); }
  /// Gives pooled memory that is not in use back to the system.
  void trim();
  /// The same, and what else the process has freed and still holds: after a model has gone, that is most of it. Takes
  /// milliseconds.
  void give_memory_back();
  int64_t peak_bytes() const { return peak_; }  ///< most bytes in use at once since the start or the last reset
  void reset_peak() { peak_ = in_use_; }

  void give_back(void* data, int64_t capacity);  ///< called by its storage

 protected:
  const Kernels* begin(const OpCost& cost) override;
  void end(const OpCost& cost) override;

 private:
  std::function<bool()> interrupted_;
  bool streaming_ = false;
  std::unordered_set<const WeightData*> kept_;
  Profile* profile_ = nullptr;
  std::vector<Observer*> observers_;
  std::mutex mutex_;
  std::multimap<int64_t, void*> free_;  // capacity -> block
  int64_t in_use_ = 0, peak_ = 0;
};

}  // namespace gesso
