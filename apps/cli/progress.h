#pragma once
#include <chrono>
#include <cstdio>
#include <string>

#include "gesso/gesso.h"

namespace cli {

/// One line about a stage, as a terminal of `columns` columns shows it:
/// "denoise  ███████░░░░░░░  10/20  1.31 s/step  ETA 13 s". With `unicode` false the bar is drawn with # and dots.
std::string progress_line(const gesso_event& event, int columns, bool unicode);

/// "0.42 s", "13 s", "2 min 05 s", "1 h 02 min".
std::string duration(double seconds);

/// Shows events on stderr: on a terminal as one live line, elsewhere as plain lines, at most one a second for a stage's
/// steps.
class Progress {
 public:
  explicit Progress(bool verbose);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const gesso_event& event);
  /// Takes the live line off the terminal, before something else is printed.
  void clear();

 private:
  void line(const std::string& text);
  void live(const gesso_event& event);
  void plain(const gesso_event& event);

  bool verbose_;
  bool terminal_;
  bool unicode_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_plain_{};
};

}  // namespace cli
