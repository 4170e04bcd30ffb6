#include "device/cpu/measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "base/threads.h"
#include "device/cpu/isa.h"
#include "device/cpu/kernels/peak.h"

namespace gesso {
namespace {

/// The best rate of several runs of `body` on every thread; `body` returns the amount of work it did.
double best_rate(int runs, const std::function<int64_t()>& body) {
  const int threads = thread_count();
  std::vector<int64_t> done(static_cast<size_t>(threads));
  double best = 0;
  for (int run = 0; run < runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) done[static_cast<size_t>(i)] = body();
    });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    double sum = 0;
    for (const int64_t work : done) sum += static_cast<double>(work);
    best = std::max(best, sum / seconds);
  }
  return best;
}

double copy_rate() {
  constexpr int64_t kBytes = int64_t{128} << 20;  // far beyond any cache of a core
  const auto from = std::make_unique<std::byte[]>(kBytes), to = std::make_unique<std::byte[]>(kBytes);
  double best = 0;
  for (int run = 0; run < 4; ++run) {
    const auto start = std::chrono::steady_clock::now();
    parallel_for(kBytes, kBytes / thread_count() + 1, [&](int64_t begin, int64_t end) {
      std::memcpy(to.get() + begin, from.get() + begin, static_cast<size_t>(end - begin));
    });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2.0 * static_cast<double>(kBytes) / seconds);
  }
  return best;
}

}  // namespace

MachineLimits measure_limits() {
  MachineLimits limits;
  constexpr int kRuns = 5;
  constexpr int64_t kSteps = 1000000;
  limits.f32 = best_rate(kRuns, [] { return cpu::f32_multiply_adds(kSteps); });
  const IsaLevel level = std::min(requested_isa(), detected_isa());
  if (level == IsaLevel::kAmx && cpu::enable_tiles()) {
    limits.bf16 = best_rate(kRuns, [] { return cpu::bf16_tile_products(kSteps); });
    limits.int8 = best_rate(kRuns, [] { return cpu::int8_tile_products(kSteps); });
  }
  limits.copy = copy_rate();
  return limits;
}

}  // namespace gesso
