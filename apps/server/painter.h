#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "gesso/gesso.h"
#include "server/job.h"
#include "server/queue.h"
#include "server/results.h"

namespace server {

/// The one thread that paints, the queue before it, and everybody who wants to know. All functions are thread-safe.
class Painter {
 public:
  struct Limits {
    size_t queue = 64;
    size_t queue_per_client = 0;  ///< 0: as many as the queue takes
  };
  struct Counters {
    uint64_t completed = 0, failed = 0, cancelled = 0, refused = 0, pictures = 0;
    double seconds = 0;  ///< of painting
    size_t queued = 0;
    bool running = false;
  };

  Painter(gesso_engine* engine, ResultStore& results, const Limits& limits);
  /// Cancels everything and waits for the thread.
  ~Painter();
  Painter(const Painter&) = delete;
  Painter& operator=(const Painter&) = delete;

  /// Queues a job. Throws ApiError: 429 when the queue is full, 503 while draining.
  JobView submit(JobOrder order, JobListener listener = {});
  /// Adds a listener, which hears the present state at once. Returns its number, 0 if no such job is known.
  uint64_t listen(const std::string& id, JobListener listener);
  void unlisten(const std::string& id, uint64_t listener);
  /// Drops a job that ended from the list of those; false if it is not there.
  bool forget(const std::string& id);
  /// Stops a job that waits or runs; false if it does neither.
  bool cancel(const std::string& id);
  /// Jobs that wait or run, and those that ended last.
  std::optional<JobView> find(const std::string& id) const;
  /// The running job, then those that wait, in order.
  std::vector<JobView> active() const;
  /// Jobs that ended and are not in the store, newest first.
  std::vector<JobView> ended() const;
  Counters counters() const;

  /// Takes no more jobs and cancels those that wait; calls back, on some thread, when nothing runs any more.
  void drain(std::function<void()> idle);
  void cancel_running();

 private:
  struct Job;
  using JobPointer = std::shared_ptr<Job>;

  void work();
  void paint(const JobPointer& job);
  void on_event(Job& job, const gesso_event& event);
  void finish(const JobPointer& job, JobState state, const std::string& code, const std::string& message, int status,
              std::shared_ptr<const PictureFiles> pictures);
  void fail(const JobPointer& job, gesso_status status, const std::string& message);
  void tell_positions();
  JobPointer known(const std::string& id) const;
  std::shared_ptr<const PictureFiles> encode(const JobOrder& order, const gesso_result* result);

  gesso_engine* const engine_;
  ResultStore& results_;
  const Limits limits_;
  mutable std::mutex mutex_;  ///< guards everything below
  std::condition_variable wake_;
  FairQueue queue_;
  std::map<std::string, JobPointer> jobs_;  ///< waiting and running
  std::deque<JobPointer> ended_;            ///< the last ones, oldest first
  JobPointer running_;
  Counters counters_;
  uint64_t last_listener_ = 0;
  bool ending_ = false;
  bool draining_ = false;
  std::function<void()> idle_;
  std::thread thread_;
};

}  // namespace server
