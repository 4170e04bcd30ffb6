#include "pipeline/model_cache.h"

#include <algorithm>
#include <filesystem>

namespace gesso {
namespace {

/// Open models without weights in memory cost little, but not nothing.
constexpr size_t kMostModels = 16;

std::vector<std::string> files_of(const Request& request) {
  std::vector<std::string> files;
  for (const auto& [field, path] : model_paths(request)) files.push_back(path);
  return files;
}

/// What decides whether a built model serves a request too: its files and when they last changed.
std::string key_of(const std::vector<std::string>& files) {
  std::string key;
  for (const std::string& path : files) {
    std::error_code error;
    const auto time = std::filesystem::last_write_time(path, error);
    key += path + '\0' + (error ? "" : std::to_string(time.time_since_epoch().count())) + '\0';
  }
  return key;
}

}  // namespace

ModelCache::Pointer ModelCache::get(const Request& request, const EventSink& sink) {
  std::vector<std::string> files = files_of(request);
  const std::string key = key_of(files);
  const std::lock_guard building(building_);
  std::list<Entry> gone;  // outlives the lock: closing a large model takes a while
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(entries_, key, &Entry::key);
    if (found != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, found);
      found->used = Clock::now();
      return found->model;
    }
    for (auto entry = entries_.begin(); entry != entries_.end();) {  // the same files as they were before they changed
      const auto next = std::next(entry);
      if (entry->model->files == files) gone.splice(gone.end(), entries_, entry);
      entry = next;
    }
  }
  gone.clear();
  sink({.kind = Event::Kind::kStage, .stage = "load"});
  const auto model = std::make_shared<CachedModel>(CachedModel{load_model(request), std::move(files), {}});
  for (const std::string& text : model->loaded.messages) sink({.kind = Event::Kind::kMessage, .text = text});
  const std::lock_guard lock(mutex_);
  entries_.push_front({.key = key, .model = model});
  if (entries_.size() > kMostModels) gone.splice(gone.end(), entries_, std::prev(entries_.end()));
  return model;
}

void ModelCache::keeps(const Pointer& model, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(entries_, model, &Entry::model);
  if (found == entries_.end()) return;
  found->held = bytes;
  found->used = Clock::now();
}

int64_t ModelCache::held(const Pointer& except) const {
  const std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const Entry& entry : entries_)
    if (entry.model != except) sum += entry.held;
  return sum;
}

size_t ModelCache::make_room(int64_t bytes, const Pointer& keep) {
  std::list<Entry> gone;
  const std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const Entry& entry : entries_)
    if (entry.model != keep) sum += entry.held;
  for (auto entry = entries_.end(); entry != entries_.begin() && sum > bytes;) {
    const auto last = --entry;
    if (last->model == keep || last->held == 0) continue;
    sum -= last->held;
    entry = std::next(last);
    gone.splice(gone.end(), entries_, last);
  }
  return gone.size();
}

size_t ModelCache::unload(const std::string& file, Clock::duration idle) {
  std::list<Entry> gone;
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    const bool meant = file.empty() || std::ranges::find(entry->model->files, file) != entry->model->files.end();
    const bool in_use = entry->model.use_count() > 1;
    if (meant && now - entry->used >= idle && !(in_use && idle > Clock::duration::zero()))
      gone.splice(gone.end(), entries_, entry);
    entry = next;
  }
  return gone.size();
}

bool ModelCache::has(const Pointer& model) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::find(entries_, model, &Entry::model) != entries_.end();
}

LoadedModelInfo ModelCache::describe(const CachedModel& model) {
  const LoadedModel& loaded = model.loaded;
  LoadedModelInfo info{.name = loaded.name, .family = loaded.family->title, .variant = loaded.variant};
  std::ranges::copy_if(model.files, std::back_inserter(info.files), [](const std::string& f) { return !f.empty(); });
  return info;
}

std::vector<LoadedModelInfo> ModelCache::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<LoadedModelInfo> models;
  for (const Entry& entry : entries_) {
    LoadedModelInfo info = describe(*entry.model);
    info.bytes = entry.held;
    info.idle_seconds = std::chrono::duration<double>(Clock::now() - entry.used).count();
    info.in_use = entry.model.use_count() > 1;
    models.push_back(std::move(info));
  }
  return models;
}

LoadedModelInfo ModelCache::info(const Pointer& model) const {
  const std::lock_guard lock(mutex_);
  LoadedModelInfo info = describe(*model);
  if (const auto found = std::ranges::find(entries_, model, &Entry::model); found != entries_.end())
    info.bytes = found->held;
  return info;
}

}  // namespace gesso
