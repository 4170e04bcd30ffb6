#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"

namespace gesso {

struct BenchmarkOptions {
  std::vector<std::string> names = {};  ///< of benchmarks(); empty: the usual ones
  int threads = 0;                      ///< 0: every physical core
  std::string precision = "auto";       ///< "auto" (what is fastest here), "f32" or "bf16"
};

/// Measures the machine, then what was asked for. `line` gets each result as soon as it is there, as a line for a
/// person. Returns "machine" (processor, instruction set, threads, limits), "results" (see Measurement) and
/// "peak_rss_bytes". Throws kUsage listing the names for one that does not exist; kUnsupported for bf16 without
/// AVX-512.
Json run_benchmarks(const BenchmarkOptions& options, const std::function<void(const std::string&)>& line);

}  // namespace gesso
