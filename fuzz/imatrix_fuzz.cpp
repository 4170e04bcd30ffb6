// Feeds any bytes to the reader of importance matrices in the older layout. What it accepts is finite and not negative.
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "io/imatrix.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const gesso::Imatrix found = gesso::parse_imatrix(std::as_bytes(std::span(data, size)), "fuzz");
    for (const auto& [name, importance] : found.entries)
      for (const double sum : importance.sums)
        if (!std::isfinite(sum) || sum < 0) std::abort();
  } catch (const gesso::Error&) {
  }
  return 0;
}
