#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace cli {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// A terminal that can move its cursor back to the line's start.
bool is_live_terminal() {
  const std::string_view kind = variable("TERM");
  return ::isatty(STDERR_FILENO) && !kind.empty() && kind != "dumb";
}

bool speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = variable(name);
    if (!value.empty()) return value != "C" && value != "POSIX";
  }
  return true;
}

int terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string bar(double fraction, int cells, bool unicode) {
  const int full = std::clamp(static_cast<int>(std::lround(fraction * cells)), 0, cells);
  std::string out;
  for (int i = 0; i < cells; ++i) out += i < full ? (unicode ? "█" : "#") : (unicode ? "░" : ".");
  return out;
}

std::string figures(const gesso_event& event) {
  if (event.steps <= 0) return "";
  std::string out = fmt::format("{}/{}", event.step, event.steps);
  if (event.seconds > 0) out += fmt::format("  {:.2f} s/step", event.seconds);
  if (event.eta > 0) out += fmt::format("  ETA {}", duration(event.eta));
  return out;
}

}  // namespace

std::string duration(double seconds) {
  if (!(seconds >= 0)) return "?";
  if (seconds < 9.995) return fmt::format("{:.2f} s", seconds);
  const auto whole = static_cast<int64_t>(std::min(seconds + 0.5, 1e9));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string progress_line(const gesso_event& event, int columns, bool unicode) {
  const std::string left = fmt::format("{:<8}", event.stage), right = figures(event);
  if (right.empty()) return fmt::format("{} {}", left, event.text);
  const int room = columns - 1 - static_cast<int>(left.size() + right.size()) - 4;
  if (room < 5) return fmt::format("{} {}", left, right);
  const double fraction = static_cast<double>(event.step) / event.steps;
  return fmt::format("{}  {}  {}", left, bar(fraction, std::min(room, 30), unicode), right);
}

Progress::Progress(bool verbose) : verbose_(verbose), terminal_(is_live_terminal()), unicode_(speaks_utf8()) {}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

void Progress::line(const std::string& text) {
  clear();
  std::fputs((text + "\n").c_str(), stderr);
}

void Progress::live(const gesso_event& event) {
  std::fputs(("\r" + progress_line(event, terminal_columns(), unicode_) + "\033[K").c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::plain(const gesso_event& event) {
  const auto now = std::chrono::steady_clock::now();
  const bool last = event.kind == GESSO_EVENT_STEP && event.step == event.steps;
  if (event.kind == GESSO_EVENT_STEP && !last && now - last_plain_ < std::chrono::seconds(1)) return;
  last_plain_ = now;
  const std::string right = event.kind == GESSO_EVENT_STEP ? figures(event) : std::string(event.text);
  line(right.empty() ? std::string(event.stage) : fmt::format("{} {}", event.stage, right));
}

void Progress::show(const gesso_event& event) {
  switch (event.kind) {
    case GESSO_EVENT_STAGE:
    case GESSO_EVENT_STEP:
      terminal_ ? live(event) : plain(event);
      break;
    case GESSO_EVENT_MESSAGE:
      if (verbose_ || std::string_view(event.stage) == "profile") line(event.text);
      break;
    case GESSO_EVENT_DONE:
      clear();
      break;
    case GESSO_EVENT_STARTED:
    case GESSO_EVENT_PREVIEW:
      break;
  }
}

}  // namespace cli
