#include "device/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace gesso {
namespace {

constexpr size_t kMostCalls = 1000000;

std::string operands_of(const OpCost& cost) {
  std::string text;
  if (cost.x) text = fmt::format("{} {}", to_string(cost.x->dtype()), to_string(cost.x->shape()));
  if (!cost.weights.empty() && cost.weights.front() && cost.weights.front()->shape().rank() > 1)
    text += " w " + to_string(cost.weights.front()->shape());
  return text;
}

}  // namespace

void Profile::begin() {
  open_.push_back({Clock::now(), {}});
}

void Profile::end(const OpCost& cost) {
  if (open_.empty()) return;  // it began before the profile did
  const Open done = open_.back();
  open_.pop_back();
  const Clock::duration whole = Clock::now() - done.start;
  if (!open_.empty()) open_.back().inside += whole;
  const size_t at = entry_of(cost);
  Entry& entry = entries_[at];
  ++entry.calls;
  entry.flops += cost.flops;
  entry.bytes += cost.bytes;
  entry.seconds += std::chrono::duration<double>(whole - done.inside).count();
  if (calls_.size() == kMostCalls) return;
  const auto nanoseconds = [](Clock::duration d) {
    return static_cast<int64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(d).count());
  };
  calls_.push_back({at, nanoseconds(done.start - origin_), nanoseconds(whole)});
}

size_t Profile::entry_of(const OpCost& cost) {
  std::string operands = operands_of(cost);
  const auto [found, added] = index_.try_emplace(cost.op + (' ' + operands), entries_.size());
  if (added)
    entries_.push_back(
        {.op = cost.op, .operands = std::move(operands), .dtype = cost.x ? cost.x->dtype() : DType::kF32});
  return found->second;
}

std::vector<Profile::Entry> Profile::entries() const {
  std::vector<Entry> sorted = entries_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) { return a.seconds > b.seconds; });
  return sorted;
}

double Profile::seconds() const {
  return std::accumulate(entries_.begin(), entries_.end(), 0.0,
                         [](double sum, const Entry& entry) { return sum + entry.seconds; });
}

std::string Profile::table(const MachineLimits& limits, size_t rows) const {
  const double all = seconds();
  std::string text =
      fmt::format("{:.2f} s in operations; at most {:.0f} GFLOP/s in f32{}, {:.1f} GB/s\n", all, limits.f32 / 1e9,
                  limits.bf16 > 0 ? fmt::format(", {:.0f} in bf16", limits.bf16 / 1e9) : "", limits.copy / 1e9);
  text += fmt::format("{:>6} {:>7} {:>10} {:>9} {:>7} {:>6}  {}\n", "share", "calls", "ms a call", "GFLOP/s", "GB/s",
                      "limit", "operation");
  const std::vector<Entry> sorted = entries();
  for (size_t i = 0; i < std::min(rows, sorted.size()); ++i) {
    const Entry& e = sorted[i];
    const double least = limits.seconds(e.dtype, e.flops, e.bytes);
    text +=
        fmt::format("{:>5.1f}% {:>7} {:>10.3f} {:>9.1f} {:>7.1f} {:>5.0f}%  {} {}\n", 100 * e.seconds / all, e.calls,
                    1e3 * e.seconds / static_cast<double>(e.calls), static_cast<double>(e.flops) / e.seconds / 1e9,
                    static_cast<double>(e.bytes) / e.seconds / 1e9, 100 * least / e.seconds, e.op, e.operands);
  }
  return text;
}

std::string Profile::chrome_trace() const {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  const char* separator = "\n";
  for (const Call& call : calls_) {
    const Entry& e = entries_[call.entry];
    text += fmt::format(
        R"({}{{"name":"{}","cat":"op","ph":"X","pid":1,"tid":1,"ts":{:.3f},"dur":{:.3f},"args":{{"operands":"{}"}}}})",
        separator, e.op, static_cast<double>(call.start) / 1e3, static_cast<double>(call.duration) / 1e3, e.operands);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

}  // namespace gesso
