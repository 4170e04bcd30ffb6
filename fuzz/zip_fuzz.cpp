// Feeds any bytes to the reader of zip archives. What it accepts must lie inside the input.
#include <cstdlib>

#include "base/error.h"
#include "io/zip_directory.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    for (const gesso::ZipEntry& e : gesso::read_zip_directory(std::as_bytes(std::span(data, size)), "fuzz"))
      if (e.offset > size || e.bytes > size - e.offset) std::abort();
  } catch (const gesso::Error&) {
  }
  return 0;
}
