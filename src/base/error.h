#pragma once
#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace gesso {

/// What kind of failure an Error is; the command line and the server map it to exit codes and statuses.
enum class ErrorCode {
  kUsage,        ///< the request itself is wrong (exit code 2, HTTP 400)
  kNotFound,     ///< a file or component that was named or is needed is not there
  kBadFile,      ///< a file's content is damaged or not what it claims
  kUnsupported,  ///< recognised, but this version cannot do it
  kOutOfMemory,  ///< an allocation failed or the budget cannot hold the work
  kCancelled,    ///< the user stopped it
  kIo,           ///< reading or writing failed
  kNumeric,      ///< a stage produced NaN or infinity, also in f32
  kInternal,     ///< a mistake of ours
};

/// Stable machine-readable name: "usage", "not_found", ...
const char* to_string(ErrorCode code);

/// The one exception type. The message is one line for a person: what was wanted, what was found, where, what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

/// Throws Error with a fmt-formatted message.
template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace gesso
