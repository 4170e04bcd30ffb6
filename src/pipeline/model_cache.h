#pragma once
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pipeline/engine.h"
#include "pipeline/model_files.h"
#include "pipeline/text_memory.h"

namespace gesso {

/// A model that stays open between requests.
struct CachedModel {
  LoadedModel loaded;
  std::vector<std::string> files;  ///< as the request named them
  TextMemory texts;                ///< of whoever paints with the model
};

/// Models that are kept open, each under the files it was built from. The least recently used ones leave when room is
/// wanted. Thread-safe; a model that leaves while somebody works with it goes with the last pointer to it.
class ModelCache {
 public:
  using Clock = std::chrono::steady_clock;
  using Pointer = std::shared_ptr<CachedModel>;

  /// The model of the request's files, built if it is not here or its files have changed; `sink` hears of that. One is
  /// built at a time. Throws as load_model does.
  Pointer get(const Request& request, const EventSink& sink);
  /// Notes how many bytes of prepared weights a model keeps from now on, and that it was used now.
  void keeps(const Pointer& model, int64_t bytes);
  /// Bytes that all of them keep, or all but one.
  int64_t held(const Pointer& except = nullptr) const;
  /// Drops the least recently used others until they keep at most `bytes`. Returns how many.
  size_t make_room(int64_t bytes, const Pointer& keep);
  /// Drops those that have `file` among theirs (empty: any) and were not used for so long. Where `idle` is more than
  /// nothing, what is being used stays. Returns how many.
  size_t unload(const std::string& file, Clock::duration idle);
  bool has(const Pointer& model) const;
  /// The one used last first.
  std::vector<LoadedModelInfo> list() const;
  /// Of one that is held by the caller.
  LoadedModelInfo info(const Pointer& model) const;

 private:
  struct Entry {
    std::string key;
    Pointer model;
    int64_t held = 0;
    Clock::time_point used = Clock::now();
  };

  static LoadedModelInfo describe(const CachedModel& model);

  std::mutex building_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  ///< used last first; guarded by mutex_
};

}  // namespace gesso
