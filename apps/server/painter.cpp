#include "server/painter.h"

#include <algorithm>
#include <chrono>

#include "server/api_error.h"
#include "server/job_json.h"
#include "server/json.h"
#include "server/progress.h"
#include "server/service.h"

namespace server {
namespace {

constexpr int kCancelledStatus = 499;  // nginx's "client closed request"
constexpr size_t kEndedKept = 64;      // a request may have a megabyte

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// The file that a field of the request names.
std::string path_of(const std::string& request, const std::string& field) {
  return parse_json(request).value(field, "");
}

/// The preview of an event as a file: small ones without loss, large ones small. Null when it cannot be encoded, which
/// is no reason to paint no picture.
std::shared_ptr<PreviewFile> preview_file(const gesso_event& event) {
  constexpr int kSmall = 256, kQuality = 85;
  const char* format = std::max(event.width, event.height) <= kSmall ? "png" : "jpg";
  uint8_t* bytes = nullptr;
  size_t size = 0;
  if (gesso_encode_preview(&event, format, kQuality, &bytes, &size, nullptr) != GESSO_OK) return nullptr;
  const std::unique_ptr<uint8_t, decltype(&gesso_free)> owner(bytes, gesso_free);
  return std::make_shared<PreviewFile>(PreviewFile{.bytes = std::string(reinterpret_cast<const char*>(bytes), size),
                                                   .format = format,
                                                   .width = event.width,
                                                   .height = event.height,
                                                   .step = event.step,
                                                   .steps = event.steps});
}

}  // namespace

struct Painter::Job {
  JobOrder order;
  JobView view;
  std::map<uint64_t, JobListener> listeners;
  ProgressMeter meter;
  uint64_t number = 0;  ///< the engine's; 0: not started
  bool cancelled = false;
  Painter* painter = nullptr;
};

Painter::Painter(gesso_engine* engine, ResultStore& results, const Limits& limits)
    : engine_(engine), results_(results), limits_(limits), thread_([this] { work(); }) {}

Painter::~Painter() {
  drain({});
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  cancel_running();
  wake_.notify_all();
  thread_.join();
}

JobView Painter::submit(JobOrder order, JobListener listener) {
  const auto job = std::make_shared<Job>();
  job->painter = this;
  job->meter = ProgressMeter(order.pictures);
  job->view = {.id = new_job_id(),
               .api = order.api,
               .client = order.client,
               .created = now(),
               .format = order.format,
               .request = public_request(order.request, order.names),
               .kept = order.keep};
  job->order = std::move(order);
  const std::lock_guard lock(mutex_);
  if (listener) job->listeners.emplace(++last_listener_, std::move(listener));
  const std::string& client = job->order.client;
  if (draining_) throw ApiError(503, "shutting_down", "the server is shutting down", {}, 30);
  const size_t own = limits_.queue_per_client ? limits_.queue_per_client : limits_.queue;
  const double each = counters_.completed ? counters_.seconds / static_cast<double>(counters_.completed) : 5;
  const int retry = static_cast<int>(std::clamp(each + 0.5, 1.0, 600.0));
  if (queue_.size() >= limits_.queue || queue_.size_of(client) >= own) {
    ++counters_.refused;
    throw ApiError(429, "queue_full",
                   queue_.size() >= limits_.queue ? "the queue is full: " + std::to_string(limits_.queue) + " jobs wait"
                                                  : "you have " + std::to_string(own) + " jobs waiting already",
                   {}, retry);
  }
  queue_.push(client, job->view.id);
  jobs_.emplace(job->view.id, job);
  const std::vector<std::string> order_now = queue_.order();
  job->view.position =
      static_cast<int>(std::ranges::find(order_now, job->view.id) - order_now.begin()) + (running_ ? 1 : 0);
  wake_.notify_all();
  return job->view;
}

Painter::JobPointer Painter::known(const std::string& id) const {
  if (const auto found = jobs_.find(id); found != jobs_.end()) return found->second;
  const auto ended = std::ranges::find_if(ended_, [&](const JobPointer& job) { return job->view.id == id; });
  return ended == ended_.end() ? nullptr : *ended;
}

uint64_t Painter::listen(const std::string& id, JobListener listener) {
  const std::lock_guard lock(mutex_);
  const JobPointer job = known(id);
  if (!job) return 0;
  const JobView& view = job->view;
  const JobEvent event = view.over()                       ? JobEvent::kEnd
                         : view.state == JobState::kQueued ? JobEvent::kPosition
                                                           : JobEvent::kProgress;
  // Under the lock, so that nothing later is heard before this: a listener only hands on.
  listener(event, view, {});
  const uint64_t number = ++last_listener_;
  if (!view.over()) job->listeners.emplace(number, std::move(listener));
  return number;
}

void Painter::unlisten(const std::string& id, uint64_t listener) {
  JobListener gone;  // outlives the lock: with it may go what takes the lock again
  const std::lock_guard lock(mutex_);
  const JobPointer job = known(id);
  if (!job) return;
  const auto found = job->listeners.find(listener);
  if (found == job->listeners.end()) return;
  gone = std::move(found->second);
  job->listeners.erase(found);
}

bool Painter::forget(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return std::erase_if(ended_, [&](const JobPointer& job) { return job->view.id == id; }) > 0;
}

std::optional<JobView> Painter::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const JobPointer job = known(id);
  return job ? std::optional(job->view) : std::nullopt;
}

std::vector<JobView> Painter::active() const {
  const std::lock_guard lock(mutex_);
  std::vector<JobView> views;
  if (running_) views.push_back(running_->view);
  for (const std::string& id : queue_.order()) views.push_back(jobs_.at(id)->view);
  return views;
}

std::vector<JobView> Painter::ended() const {
  const std::lock_guard lock(mutex_);
  std::vector<JobView> views;
  for (auto job = ended_.rbegin(); job != ended_.rend(); ++job)
    if (!((*job)->view.kept && (*job)->view.state == JobState::kCompleted)) views.push_back((*job)->view);
  return views;
}

Painter::Counters Painter::counters() const {
  const std::lock_guard lock(mutex_);
  Counters counters = counters_;
  counters.queued = queue_.size();
  counters.running = running_ != nullptr;
  return counters;
}

bool Painter::cancel(const std::string& id) {
  JobPointer waiting;
  {
    const std::lock_guard lock(mutex_);
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return false;
    found->second->cancelled = true;
    if (queue_.remove(id)) {
      waiting = found->second;
    } else if (found->second->number != 0) {
      gesso_cancel(engine_, found->second->number);
    }
  }
  if (waiting) {
    finish(waiting, JobState::kCancelled, "cancelled", "cancelled while it waited", kCancelledStatus, nullptr);
    tell_positions();
  }
  return true;
}

void Painter::cancel_running() {
  std::string id;
  {
    const std::lock_guard lock(mutex_);
    if (running_) id = running_->view.id;
  }
  if (!id.empty()) cancel(id);
}

void Painter::drain(std::function<void()> idle) {
  std::vector<std::string> waiting;
  bool nothing_runs = false;
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
    waiting = queue_.order();
    nothing_runs = !running_;
    idle_ = nothing_runs ? nullptr : idle;
  }
  for (const std::string& id : waiting) cancel(id);
  if (nothing_runs && idle) idle();
}

// ---- on the painting thread ----

void Painter::work() {
  for (;;) {
    JobPointer job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return ending_ || queue_.size() > 0; });
      if (ending_) return;
      job = jobs_.at(queue_.pop());
      running_ = job;
      job->view.state = JobState::kRunning;
      job->view.position = 0;
      job->view.started = now();
    }
    tell_positions();
    paint(job);
    std::function<void()> idle;
    {
      const std::lock_guard lock(mutex_);
      if (draining_) idle = std::exchange(idle_, nullptr);
    }
    if (idle) idle();
  }
}

void Painter::tell_positions() {
  const std::lock_guard lock(mutex_);
  int position = running_ ? 1 : 0;
  for (const std::string& id : queue_.order()) {
    Job& job = *jobs_.at(id);
    const int before = std::exchange(job.view.position, position++);
    if (before == job.view.position) continue;
    for (const auto& [number, listener] : job.listeners) listener(JobEvent::kPosition, job.view, {});
  }
}

void Painter::on_event(Job& job, const gesso_event& event) {
  std::shared_ptr<PreviewFile> preview;
  if (event.kind == GESSO_EVENT_PREVIEW && !(preview = preview_file(event))) return;
  const std::lock_guard lock(mutex_);
  if (preview) {
    preview->picture = job.meter.picture();
    job.view.preview = std::move(preview);
    for (const auto& [number, listener] : job.listeners) listener(JobEvent::kPreview, job.view, {});
    return;
  }
  if (event.kind == GESSO_EVENT_STARTED) {
    job.number = event.job;
    if (job.cancelled) gesso_cancel(engine_, event.job);
    return;
  }
  if (event.kind == GESSO_EVENT_MESSAGE) {
    const std::string text = without_paths(event.text, job.order.request, job.order.names);
    for (const auto& [number, listener] : job.listeners) listener(JobEvent::kMessage, job.view, text);
    return;
  }
  if (!job.meter.update(event)) return;
  job.view.progress = job.meter.progress();
  for (const auto& [number, listener] : job.listeners) listener(JobEvent::kProgress, job.view, {});
}

void Painter::paint(const JobPointer& job) {
  gesso_error error = {};
  gesso_result* result = nullptr;
  const auto on_each = [](const gesso_event* event, void* user) {
    Job& painted = *static_cast<Job*>(user);
    painted.painter->on_event(painted, *event);
  };
  const gesso_status status = gesso_generate(engine_, job->order.request.c_str(), on_each, job.get(), &result, &error);
  const std::unique_ptr<gesso_result, decltype(&gesso_result_free)> owner(result, gesso_result_free);
  if (status == GESSO_CANCELLED)
    return finish(job, JobState::kCancelled, "cancelled", "cancelled while it was painted", kCancelledStatus, nullptr);
  if (status != GESSO_OK) return fail(job, status, error.message);
  try {
    const auto pictures = encode(job->order, result);
    JobView done;
    {
      const std::lock_guard lock(mutex_);
      job->view.request = public_request(gesso_result_request(result), job->order.names);
      job->view.ended = now();
      done = job->view;
    }
    done.state = JobState::kCompleted;
    done.progress.fraction = 1;
    done.progress.eta = 0;
    done.pictures = pictures;
    if (job->order.keep) results_.save(done.id, job_json(done), *pictures, done.format);
    finish(job, JobState::kCompleted, {}, {}, 200, pictures);
  } catch (const ApiError& failure) {
    finish(job, JobState::kFailed, failure.code(), failure.what(), failure.status(), nullptr);
  } catch (const std::exception& failure) {
    finish(job, JobState::kFailed, "io", failure.what(), 507, nullptr);
  }
}

/// The library could not paint. Where a picture that came with the request is to blame, so is the request.
void Painter::fail(const JobPointer& job, gesso_status status, const std::string& message) {
  const JobOrder& order = job->order;
  int http = http_status(status);
  for (const auto& [field, name] : order.names) {
    const std::string path = path_of(order.request, field);
    const bool uploaded =
        std::ranges::any_of(order.uploads, [&](const UploadPointer& upload) { return upload->path() == path; });
    if (!uploaded || message.find(path) == message.npos) continue;
    if (status == GESSO_BAD_FILE) http = 400;
    const std::lock_guard lock(mutex_);
    job->view.error_field = field;
  }
  finish(job, JobState::kFailed, gesso_status_name(status), without_paths(message, order.request, order.names), http,
         nullptr);
}

std::shared_ptr<const PictureFiles> Painter::encode(const JobOrder& order, const gesso_result* result) {
  auto files = std::make_shared<PictureFiles>();
  for (size_t i = 0; i < gesso_result_count(result); ++i) {
    gesso_error error = {};
    gesso_picture picture = {};
    uint8_t* bytes = nullptr;
    size_t size = 0;
    if (gesso_result_picture(result, i, &picture, &error) != GESSO_OK ||
        gesso_encode_picture(result, i, order.format.c_str(), order.quality, &bytes, &size, &error) != GESSO_OK)
      throw ApiError(http_status(error.code), gesso_status_name(error.code), error.message);
    const std::unique_ptr<uint8_t, decltype(&gesso_free)> owner(bytes, gesso_free);
    files->push_back({.bytes = std::string(reinterpret_cast<const char*>(bytes), size),
                      .width = picture.width,
                      .height = picture.height,
                      .seed = picture.seed,
                      .parameters = picture.parameters,
                      .request = picture.request});
  }
  return files;
}

void Painter::finish(const JobPointer& job, JobState state, const std::string& code, const std::string& message,
                     int status, std::shared_ptr<const PictureFiles> pictures) {
  std::map<uint64_t, JobListener> listeners;
  JobView view;
  {
    const std::lock_guard lock(mutex_);
    job->view.state = state;
    if (job->view.ended == 0) job->view.ended = now();
    job->view.position = 0;
    job->view.preview = nullptr;
    job->view.error = message;
    job->view.error_code = code;
    job->view.error_status = status;
    if (state == JobState::kCompleted && job->cancelled) {
      // Too late to stop it, but whoever was told that it is being cancelled shall not find its result.
      if (job->view.kept) results_.remove(job->view.id);
      job->view.state = JobState::kCancelled;
      job->view.error_code = "cancelled";
      job->view.error = "cancelled while it was painted";
      job->view.error_status = kCancelledStatus;
      pictures = nullptr;
      ++counters_.cancelled;
    } else if (state == JobState::kCompleted) {
      job->view.progress.fraction = 1;
      job->view.progress.eta = 0;
      ++counters_.completed;
      counters_.pictures += pictures->size();
      counters_.seconds += job->view.ended - job->view.started;
    } else {
      ++(state == JobState::kFailed ? counters_.failed : counters_.cancelled);
    }
    job->order = {};  // paths and texts that nobody needs any more
    view = job->view;
    view.pictures = std::move(pictures);
    listeners = std::move(job->listeners);
    job->listeners.clear();
    if (running_ == job) running_ = nullptr;
    jobs_.erase(view.id);
    ended_.push_back(job);
    if (ended_.size() > kEndedKept) ended_.pop_front();
  }
  for (const auto& [number, listener] : listeners) listener(JobEvent::kEnd, view, {});
}

}  // namespace server
