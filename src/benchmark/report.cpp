#include "benchmark/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "base/threads.h"
#include "benchmark/benchmarks.h"
#include "device/cpu/isa.h"
#include "device/cpu/measure.h"

namespace gesso {
namespace {

std::vector<const Benchmark*> chosen(const std::vector<std::string>& names) {
  std::vector<const Benchmark*> list;
  for (const Benchmark& benchmark : benchmarks())
    if (names.empty() ? benchmark.usual : std::ranges::find(names, benchmark.name) != names.end())
      list.push_back(&benchmark);
  for (const std::string& name : names)
    if (std::ranges::none_of(benchmarks(), [&](const Benchmark& b) { return name == b.name; })) {
      std::string known;
      for (const Benchmark& b : benchmarks())
        known += fmt::format("{}{}{}", known.empty() ? "" : ", ", b.name, b.usual ? "" : "*");
      fail(ErrorCode::kUsage, "there is no benchmark '{}'; known are {} (* only runs when named)", name, known);
    }
  return list;
}

DType compute_type(const std::string& precision, const CpuDevice& device) {
  if (precision == "f32") return DType::kF32;
  if (precision == "auto") return device.prefers_bf16() ? DType::kBF16 : DType::kF32;
  if (precision != "bf16") fail(ErrorCode::kUsage, "precision: wanted auto, f32 or bf16, found {}", precision);
  if (!device.computes_bf16())
    fail(ErrorCode::kUnsupported, "this processor cannot compute in bf16, which takes AVX-512: use --precision f32");
  return DType::kBF16;
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

/// The most memory this process has had at once, in bytes; 0 where the system does not tell.
int64_t peak_rss() {
  std::ifstream file("/proc/self/status");
  for (std::string key, rest; file >> key; std::getline(file, rest))
    if (int64_t kib = 0; key == "VmHWM:" && file >> kib) return kib * 1024;
  return 0;
}

Json to_json(const Measurement& m) {
  return {{"name", m.name},
          {"what", m.what},
          {"seconds", m.seconds},
          {"flops", m.flops},
          {"bytes", m.bytes},
          {"flops_per_second", static_cast<double>(m.flops) / m.seconds},
          {"bytes_per_second", static_cast<double>(m.bytes) / m.seconds},
          {"fraction_of_limit", m.fraction},
          {"peak_activation_bytes", m.peak}};
}

std::string to_line(const Measurement& m) {
  return fmt::format("{:<38} {:>11.3f} ms {:>8.1f} GFLOP/s {:>6.1f} GB/s {:>4.0f}% {:>7.0f} MiB  {}", m.name,
                     1e3 * m.seconds, static_cast<double>(m.flops) / m.seconds / 1e9,
                     static_cast<double>(m.bytes) / m.seconds / 1e9, 100 * m.fraction,
                     static_cast<double>(m.peak) / 1048576, m.what);
}

}  // namespace

Json run_benchmarks(const BenchmarkOptions& options, const std::function<void(const std::string&)>& line) {
  const std::vector<const Benchmark*> list = chosen(options.names);
  CpuDevice device;
  const DType compute = compute_type(options.precision, device);
  set_thread_count(std::min(options.threads, processor_count()));
  const MachineLimits limits = measure_limits();
  const char* isa = to_string(std::min(requested_isa(), detected_isa()));
  line(fmt::format("{}, {}, {} threads, computing in {}", processor(), isa, thread_count(), to_string(compute)));
  line(fmt::format("limits: {:.0f} GFLOP/s in f32, {}, {:.1f} GB/s of a copy", limits.f32 / 1e9,
                   limits.bf16 > 0 ? fmt::format("{:.0f} GFLOP/s in bf16 tiles, {:.0f} GOP/s in int8 tiles",
                                                 limits.bf16 / 1e9, limits.int8 / 1e9)
                                   : "no tiles",
                   limits.copy / 1e9));
  line(fmt::format("{:<38} {:>14} {:>16} {:>11} {:>5} {:>11}", "", "fastest", "", "", "limit", "activations"));

  Json report;
  report["machine"] = {{"processor", processor()},     {"isa", isa},
                       {"threads", thread_count()},    {"precision", to_string(compute)},
                       {"f32_flops", limits.f32},      {"bf16_tile_flops", limits.bf16},
                       {"int8_tile_ops", limits.int8}, {"copy_bytes_per_second", limits.copy}};
  report["results"] = Json::array();
  for (const Benchmark* benchmark : list)
    benchmark->run({device, compute, limits}, [&](const Measurement& m) {
      line(to_line(m));
      report["results"].push_back(to_json(m));
    });
  report["peak_rss_bytes"] = peak_rss();
  return report;
}

}  // namespace gesso
