#include "job.h"

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
  watch.progress_.show(*event);
}

}  // namespace cli
