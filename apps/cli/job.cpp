#include "job.h"

#include <fmt/format.h>

#include <cstdio>

namespace cli {

JobWatch::JobWatch(Interrupt& interrupt, gesso_engine* engine, bool verbose)
    : interrupt_(interrupt), engine_(engine), progress_(verbose) {
  interrupt_.watch(engine_);
}

JobWatch::~JobWatch() {
  interrupt_.watch(nullptr);
}

void JobWatch::on_event(const gesso_event* event, void* user) {
  auto& watch = *static_cast<JobWatch*>(user);
  // a signal that came before the job had a number
  if (event->kind == GESSO_EVENT_STARTED && watch.interrupt_.requested()) gesso_cancel(watch.engine_, event->job);
  if (event->kind == GESSO_EVENT_PREVIEW) return watch.save_preview(*event);
  watch.progress_.show(*event);
}

void JobWatch::save_preview(const gesso_event& event) {
  gesso_error error = {};
  if (preview_path_.empty() || gesso_save_preview(&event, preview_path_.c_str(), preview_quality_, &error) == GESSO_OK)
    return;
  preview_path_.clear();  // said once: the picture itself goes on
  progress_.clear();
  std::fputs(fmt::format("gesso: no previews: {}\n", error.message).c_str(), stderr);
}

}  // namespace cli
