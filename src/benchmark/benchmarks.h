#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "device/limits.h"

namespace gesso {

/// One thing measured.
struct Measurement {
  std::string name;     ///< "attention.self.4096x40"
  std::string what;     ///< "8 heads of 40, 4096 tokens, batch of 2"
  double seconds = 0;   ///< of the fastest run
  int64_t flops = 0;    ///< as the meta device counts them
  int64_t bytes = 0;    ///< activations read and written and weights read
  double fraction = 0;  ///< of what the limit that binds allows: 1 is as fast as the machine can
  int64_t peak = 0;     ///< most bytes of activations alive at once
};

/// What benchmarks run with.
struct BenchmarkSetup {
  CpuDevice& device;
  DType compute;  ///< of activations and prepared weights: f32 or bf16
  MachineLimits limits;
};

/// A group of measurements that one name stands for.
struct Benchmark {
  const char* name;
  const char* what;
  bool usual;  ///< runs when no name is given; the others take minutes
  std::function<void(const BenchmarkSetup&, const std::function<void(Measurement)>& report)> run;
};

/// All of them: the table that `gesso bench` and its list of names come from.
std::span<const Benchmark> benchmarks();

/// Work, made ready on a device: the function that is measured.
using Prepare = std::function<std::function<void()>(Device& device, DType compute)>;

/// Costs from the meta device, time from the processor: after one run that prepares weights, the fastest of as many as
/// fit into half a second, at least two.
Measurement measure(const BenchmarkSetup& setup, std::string name, std::string what, const Prepare& prepare);

}  // namespace gesso
