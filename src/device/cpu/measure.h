#pragma once
#include "device/limits.h"

namespace gesso {

/// Measures what this processor can do at most with thread_count() threads, under the cap of GESSO_ISA; takes about a
/// second. Throws kOutOfMemory when the copy's 256 MiB are not to be had.
MachineLimits measure_limits();

}  // namespace gesso
