#pragma once
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "base/error.h"
#include "gesso/gesso.h"

namespace gesso {

gesso_status to_status(ErrorCode code);

/// Writes into `error`, if there is one, and returns the code. The message is made one line and cut to fit.
gesso_status report(gesso_error* error, gesso_status code, std::string_view message) noexcept;

/// The pointer, which a caller of the C interface may have forgotten. Throws kUsage.
template <typename T>
T* required(T* pointer, const char* what) {
  if (!pointer) fail(ErrorCode::kUsage, "{} is NULL", what);
  return pointer;
}

/// A copy, with a NUL behind it, that gesso_free() frees. Throws std::bad_alloc.
inline char* copy_out(std::string_view bytes) {
  char* copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, bytes.data(), bytes.size());
  copy[bytes.size()] = '\0';
  return copy;
}

/// The one place where exceptions end: runs `body` and turns what it throws into a status.
template <typename Body>
gesso_status guarded(gesso_error* error, Body&& body) noexcept {
  try {
    body();
    return GESSO_OK;
  } catch (const Error& caught) {
    return report(error, to_status(caught.code()), caught.what());
  } catch (const std::bad_alloc&) {
    return report(error, GESSO_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& caught) {
    return report(error, GESSO_INTERNAL, caught.what());
  } catch (...) {
    return report(error, GESSO_INTERNAL, "unknown exception");
  }
}

}  // namespace gesso
