#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/limits.h"

namespace gesso {

/// Where the time of a device goes: every operation it runs, by kind, type and shapes. One thread at a time.
class Profile {
 public:
  struct Entry {
    std::string op;        ///< "conv2d"
    std::string operands;  ///< "f32 [2, 64, 64, 320] w [320, 320, 3, 3]"
    DType dtype = DType::kF32;
    int64_t calls = 0, flops = 0, bytes = 0;
    double seconds = 0;  ///< without operations inside it
  };

  void begin();
  void end(const OpCost& cost);

  /// Longest first.
  std::vector<Entry> entries() const;
  double seconds() const;  ///< of all entries together
  /// The longest `rows` entries as lines for a person: share of the time, calls, time of a call, rate, fraction of the
  /// limit that binds.
  std::string table(const MachineLimits& limits, size_t rows) const;
  /// Every call as an event of Chrome's trace format (JSON), for chrome://tracing or ui.perfetto.dev. After a million
  /// calls only the table goes on.
  std::string chrome_trace() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Open {
    Clock::time_point start;
    Clock::duration inside{};  ///< of operations that ran within
  };
  struct Call {
    size_t entry;
    int64_t start, duration;  ///< nanoseconds
  };

  size_t entry_of(const OpCost& cost);

  Clock::time_point origin_ = Clock::now();
  std::vector<Open> open_;
  std::map<std::string, size_t> index_;
  std::vector<Entry> entries_;
  std::vector<Call> calls_;
};

}  // namespace gesso
