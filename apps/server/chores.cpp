#include "server/chores.h"

#include <utility>

namespace server {

Chores::Chores(std::function<void()> regular, std::chrono::milliseconds period)
    : regular_(std::move(regular)), period_(period), thread_([this] { work(); }) {}

Chores::~Chores() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool Chores::add(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMostWaiting) return false;
    waiting_.push_back(std::move(work));
  }
  wake_.notify_all();
  return true;
}

void Chores::work() {
  const auto wanted = [this] { return ending_ || !waiting_.empty(); };
  for (;;) {
    std::function<void()> next;
    {
      std::unique_lock lock(mutex_);
      if (regular_)
        wake_.wait_for(lock, period_, wanted);
      else
        wake_.wait(lock, wanted);
      if (ending_) return;
      if (!waiting_.empty()) {
        next = std::move(waiting_.front());
        waiting_.pop_front();
      }
    }
    if (next)
      next();
    else
      regular_();
  }
}

}  // namespace server
