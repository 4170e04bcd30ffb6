#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace server {

/// A thread for what takes a while and is no painting: opening a model, counting tokens. The network thread must not
/// wait for it, and it must not wait for pictures. Thread-safe.
class Chores {
 public:
  /// `regular`, where there is one, is done every `period` when nothing else is.
  explicit Chores(std::function<void()> regular = {}, std::chrono::milliseconds period = std::chrono::seconds(1));
  /// Waits for what is being done; what waits is dropped.
  ~Chores();
  Chores(const Chores&) = delete;
  Chores& operator=(const Chores&) = delete;

  /// False when too much waits already. `work` must not throw.
  bool add(std::function<void()> work);

 private:
  static constexpr size_t kMostWaiting = 256;

  void work();

  const std::function<void()> regular_;
  const std::chrono::milliseconds period_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;  ///< guarded by mutex_
  bool ending_ = false;                        ///< guarded by mutex_
  std::thread thread_;
};

}  // namespace server
