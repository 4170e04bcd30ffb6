#pragma once
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/job.h"

namespace server {

/// Finished jobs in a folder, one folder each: job.json and the pictures 0.png, 1.png ... A job appears whole or not at
/// all, whatever ends the process: it is written under another name, flushed, and renamed. Thread-safe.
class ResultStore {
 public:
  /// Creates the folder, takes it for this process alone, and removes what an interrupted one left half written. Throws
  /// std::runtime_error with the reason.
  explicit ResultStore(const std::filesystem::path& folder);
  ~ResultStore();
  ResultStore(const ResultStore&) = delete;
  ResultStore& operator=(const ResultStore&) = delete;

  /// Throws std::runtime_error if it cannot be written; nothing of it is left then.
  void save(const std::string& id, const std::string& job_json, const PictureFiles& pictures,
            const std::string& format);
  size_t count() const;
  /// At most `limit` ids, newest first, all older than `before` unless that is empty.
  std::vector<std::string> list(size_t limit, const std::string& before) const;
  /// The job.json of a job, or nothing if there is no such job.
  std::optional<std::string> job(const std::string& id) const;

  struct File {
    std::string bytes;
    std::string format;  ///< "png", "jpg", "webp"
  };
  std::optional<File> picture(const std::string& id, size_t index) const;
  /// False if there is no such job.
  bool remove(const std::string& id);

  const std::filesystem::path& folder() const { return folder_; }

 private:
  bool knows(const std::string& id) const;

  const std::filesystem::path folder_;
  int lock_ = -1;
  mutable std::mutex mutex_;
  std::set<std::string> ids_;  ///< guarded by mutex_; an id begins with its time, so that order is age
};

/// A new job's id: its time, and 96 random bits that nobody guesses.
std::string new_job_id();

/// "image/png" of "png".
std::string_view content_type_of(std::string_view format);

}  // namespace server
