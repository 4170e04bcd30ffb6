#pragma once
#include <atomic>
#include <mutex>
#include <thread>

#include "gesso/gesso.h"

namespace cli {

/// While it lives, the first SIGINT or SIGTERM cancels what the engine paints and the second ends the process. Must be
/// made before the engine starts threads, so that they leave these signals to the one thread that waits for them.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// The engine whose work a signal cancels; nullptr before it is closed.
  void watch(gesso_engine* engine);
  /// True once signalled: work is not to be started.
  bool requested() const { return requested_; }
  /// While files are written, which is quick, a second signal waits for that, so that no part of one remains.
  void set_writing(bool writing) { writing_ = writing; }

 private:
  void wait();

  std::mutex mutex_;
  gesso_engine* engine_ = nullptr;  ///< guarded by mutex_
  std::atomic<bool> requested_{false};
  std::atomic<bool> writing_{false};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace cli
