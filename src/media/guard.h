#pragma once
#include <csetjmp>
#include <cstddef>
#include <cstdio>

namespace gesso {

/// Where a C codec's error handler jumps to, and what it had to say. The handlers of libpng and libjpeg must not
/// return, and an exception must not cross their frames.
struct CodecError {
  std::jmp_buf target;
  char message[200] = "";

  [[noreturn]] void raise(const char* text) {
    std::snprintf(message, sizeof message, "%s", text);
    std::longjmp(target, 1);
  }
};

/// Runs `step` and returns true; false when it ended in CodecError::raise. A jump runs no destructors: `step`, and
/// what it calls, may hold only trivial objects while the codec works. Everything owned lives in the caller. Not
/// inlined, so that no variable of the caller sits in a register across the jump.
template <typename Step>
[[gnu::noinline]] bool guarded(CodecError& error, const Step& step) {
  if (setjmp(error.target) != 0) return false;
  step();
  return true;
}

}  // namespace gesso
