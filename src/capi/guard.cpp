#include "capi/guard.h"

#include <algorithm>

namespace gesso {

gesso_status to_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return GESSO_USAGE;
    case ErrorCode::kNotFound:
      return GESSO_NOT_FOUND;
    case ErrorCode::kBadFile:
      return GESSO_BAD_FILE;
    case ErrorCode::kUnsupported:
      return GESSO_UNSUPPORTED;
    case ErrorCode::kOutOfMemory:
      return GESSO_OUT_OF_MEMORY;
    case ErrorCode::kCancelled:
      return GESSO_CANCELLED;
    case ErrorCode::kIo:
      return GESSO_IO;
    case ErrorCode::kNumeric:
      return GESSO_NUMERIC;
    case ErrorCode::kInternal:
      return GESSO_INTERNAL;
  }
  return GESSO_INTERNAL;
}

gesso_status report(gesso_error* error, gesso_status code, std::string_view message) noexcept {
  if (!error) return code;
  error->code = code;
  size_t size = std::min(message.size(), sizeof error->message - 1);
  if (size < message.size())
    while (size > 0 && (static_cast<unsigned char>(message[size]) & 0xC0) == 0x80) --size;
  // A file name may hold a line break; a message is one line.
  std::transform(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(size), error->message,
                 [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c; });
  error->message[size] = '\0';
  return code;
}

}  // namespace gesso
