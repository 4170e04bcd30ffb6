#include "server/progress.h"

#include <algorithm>
#include <string_view>

namespace server {
namespace {

constexpr double kDenoising = 0.95;  // of the whole; the rest is decoding

}  // namespace

bool ProgressMeter::update(const gesso_event& event) {
  if (event.kind != GESSO_EVENT_STAGE && event.kind != GESSO_EVENT_STEP) return false;
  const bool begins = event.kind == GESSO_EVENT_STAGE;
  const std::string_view stage = event.stage;
  progress_.stage = stage;
  progress_.step = begins ? 0 : event.step;
  progress_.steps = event.steps;
  const double of_stage = event.steps > 0 ? static_cast<double>(progress_.step) / event.steps : 0;
  if (stage == "denoise") {
    if (begins) {
      ++denoising_;
    } else {
      painted_ += event.seconds;
      ++steps_done_;
    }
    progress_.fraction = kDenoising * std::min(1.0, (std::max(denoising_ - 1, 0) + of_stage) / pictures_);
    if (steps_done_ > 0) {
      const int64_t left = int64_t{event.steps} * std::max(pictures_ - denoising_, 0) + event.steps - progress_.step;
      progress_.eta = painted_ / static_cast<double>(steps_done_) * static_cast<double>(left);
    }
  } else if (stage == "decode") {
    progress_.fraction = std::max(progress_.fraction, kDenoising);
    progress_.eta = event.eta;
  }
  return true;
}

}  // namespace server
