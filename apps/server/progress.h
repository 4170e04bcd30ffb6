#pragma once
#include "gesso/gesso.h"
#include "server/job.h"

namespace server {

/// Follows the events of a job that paints several pictures, and says how far it is altogether.
class ProgressMeter {
 public:
  explicit ProgressMeter(int pictures = 1) : pictures_(pictures) {}
  /// True if the event says something about progress.
  bool update(const gesso_event& event);
  const JobProgress& progress() const { return progress_; }
  /// The picture that is painted, from 0.
  int picture() const { return denoising_ > 0 ? denoising_ - 1 : 0; }

 private:
  int pictures_;
  int denoising_ = 0;   ///< pictures whose denoising has begun
  double painted_ = 0;  ///< seconds of all denoising steps
  int64_t steps_done_ = 0;
  JobProgress progress_;
};

}  // namespace server
