#include "base/threads.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <utility>

// The entry points of GNU OpenMP, declared rather than taken from <omp.h> so that clang without libomp compiles this
// file and both compilers join the one team of threads that oneDNN (built by gcc) runs on.
extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_thread_num();
int omp_get_num_threads();
int omp_get_max_threads();
int omp_in_parallel();
void omp_set_num_threads(int threads);
}

namespace gesso {
namespace {

/// Empty when the system does not tell.
cpu_set_t affinity() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) CPU_ZERO(&allowed);
  return allowed;
}

int physical_cores_in_affinity() {
  const cpu_set_t allowed = affinity();
  std::set<std::string> cores;  // the list of hyper-thread siblings names a physical core
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    std::string siblings;
    if (!(file >> siblings)) siblings = std::to_string(cpu);
    cores.insert(siblings);
  }
  return std::max<int>(1, static_cast<int>(cores.size()));
}

int cgroup_quota() {  // cgroup v2: "max 100000" or "150000 100000"
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 1 << 20;
  return std::max(1, static_cast<int>(std::atof(quota.c_str()) / period + 0.999));
}

struct Team {
  int64_t count, chunk;
  const std::function<void(int64_t, int64_t)>* body;
};

void run_member(void* data) {
  const Team& team = *static_cast<const Team*>(data);
  // Static round-robin over chunks: cheap, and every thread gets its share of slow and fast regions.
  const int64_t members = omp_get_num_threads();
  for (int64_t begin = omp_get_thread_num() * team.chunk; begin < team.count; begin += members * team.chunk)
    (*team.body)(begin, std::min(begin + team.chunk, team.count));
}

}  // namespace

int processor_count() {
  const cpu_set_t allowed = affinity();
  return std::max(1, CPU_COUNT(&allowed));
}

int default_thread_count() {
  static const int count = std::min(physical_cores_in_affinity(), cgroup_quota());
  return count;
}

void set_thread_count(int threads) {
  omp_set_num_threads(threads > 0 ? threads : default_thread_count());
}

int thread_count() {
  return std::max(1, omp_get_max_threads());
}

void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(1, grain);
  const int64_t threads = std::min<int64_t>(thread_count(), (count + grain - 1) / grain);
  if (threads <= 1 || omp_in_parallel()) return body(0, count);
  // Four chunks a thread even out unequal work.
  const int64_t chunk = std::max(grain, (count + threads * 4 - 1) / (threads * 4));
  Team team{count, chunk, &body};
  GOMP_parallel(run_member, &team, static_cast<unsigned>(threads), 0);
}

}  // namespace gesso
