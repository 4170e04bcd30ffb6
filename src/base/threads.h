#pragma once
#include <cstdint>
#include <functional>

namespace gesso {

/// Threads worth using for compute: physical cores within this process's CPU affinity and cgroup quota; at least 1.
int default_thread_count();

/// Processors (hardware threads) within this process's CPU affinity: more threads than these take turns.
int processor_count();

/// Threads that parallel_for called from this thread uses (oneDNN follows the same setting). 0 restores the default.
void set_thread_count(int threads);
int thread_count();

/// Runs body(begin, end) over disjoint ranges that cover [0, count), at least `grain` long except the last, on the
/// team of threads shared with oneDNN. Returns when all are done. The ranges depend on the thread count, so a body
/// must compute each index independently of where its range starts. `body` must not throw.
void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace gesso
