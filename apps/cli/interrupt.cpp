#include "interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "library.h"

namespace cli {
namespace {

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGUSR1);  // wakes our own thread at the end
  return set;
}

}  // namespace

Interrupt::Interrupt() {
  const sigset_t set = watched_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { wait(); });
}

Interrupt::~Interrupt() {
  ended_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
  sigset_t set = watched_signals();
  sigdelset(&set, SIGUSR1);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void Interrupt::watch(gesso_engine* engine) {
  const std::lock_guard lock(mutex_);
  engine_ = engine;
}

void Interrupt::wait() {
  const sigset_t set = watched_signals();
  for (;;) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) continue;
    if (ended_) return;
    if (signal == SIGUSR1) continue;
    if (requested_.exchange(true) && !writing_) ::_exit(kExitInterrupted);
    const std::lock_guard lock(mutex_);
    gesso_cancel(engine_, 0);
  }
}

}  // namespace cli
