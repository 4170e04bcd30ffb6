#pragma once
#include <string>

#include "interrupt.h"
#include "progress.h"

namespace cli {

/// What stands between an engine's job and the person in front of it: its events go to the terminal, and a signal
/// cancels it. The engine outlives it. For one job after another.
class JobWatch {
 public:
  JobWatch(Interrupt& interrupt, gesso_engine* engine, bool verbose);
  ~JobWatch();
  JobWatch(const JobWatch&) = delete;
  JobWatch& operator=(const JobWatch&) = delete;

  /// For a function of the library that runs a job, with `this` as its user pointer.
  static void on_event(const gesso_event* event, void* user);
  /// From now on previews are written to `path`, each over the one before.
  void save_previews(std::string path, int quality) {
    preview_path_ = std::move(path);
    preview_quality_ = quality;
  }
  /// Takes the live line off the terminal, before something else is printed.
  void clear() { progress_.clear(); }
  /// See Interrupt.
  void set_writing(bool writing) { interrupt_.set_writing(writing); }

 private:
  Interrupt& interrupt_;
  gesso_engine* engine_;
  Progress progress_;
  std::string preview_path_ = {};  ///< empty: nowhere
  int preview_quality_ = 0;

  void save_preview(const gesso_event& event);
};

}  // namespace cli
