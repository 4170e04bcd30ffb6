#include "device/cpu/isa.h"

#include <cpuid.h>
#include <dnnl.h>
#include <hwy/highway.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"

namespace gesso {
namespace {

struct Level {
  IsaLevel level;
  const char* name;
  int64_t kernels;      // Highway targets above this level
  dnnl_cpu_isa_t dnnl;  // oneDNN's name for it
};

constexpr int64_t kAboveAvx2 = HWY_AVX3 | HWY_AVX3_DL, kAboveSse4 = kAboveAvx2 | HWY_AVX2;
constexpr Level kLevels[] = {
    {IsaLevel::kBaseline, "baseline", kAboveSse4 | HWY_SSE4 | HWY_SSSE3, dnnl_cpu_isa_sse41},
    {IsaLevel::kSse4, "sse4", kAboveSse4, dnnl_cpu_isa_sse41},
    {IsaLevel::kAvx2, "avx2", kAboveAvx2, dnnl_cpu_isa_avx2},
    {IsaLevel::kAvx512, "avx512", 0, dnnl_cpu_isa_avx512_core},
    {IsaLevel::kAmx, "amx", 0, dnnl_cpu_isa_all},
};

const Level& row(IsaLevel level) {
  return kLevels[static_cast<int>(level)];
}

struct Registers {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(uint32_t leaf, uint32_t subleaf) {
  Registers r;
  if (!__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx)) return {};
  return r;
}

// Register states that the operating system saves (XCR0).
uint64_t enabled_states() {
  if (!(cpuid(1, 0).ecx & (1u << 27))) return 0;  // OSXSAVE
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

bool has_amx_bf16() {
  constexpr uint64_t kTileStates = (1u << 17) | (1u << 18);
  constexpr uint32_t kAmxBf16 = 1u << 22, kAmxTile = 1u << 24;
  const uint32_t edx = cpuid(7, 0).edx;
  return (edx & kAmxBf16) && (edx & kAmxTile) && (enabled_states() & kTileStates) == kTileStates;
}

bool has_avx512() {
  constexpr uint64_t kZmmStates = 0xe6;
  constexpr uint32_t kF = 1u << 16, kDq = 1u << 17, kBw = 1u << 30, kVl = 1u << 31;
  return (cpuid(7, 0).ebx & (kF | kDq | kBw | kVl)) == (kF | kDq | kBw | kVl) &&
         (enabled_states() & kZmmStates) == kZmmStates;
}

bool has_avx512_bf16() {
  return has_avx512() && (cpuid(7, 1).eax & (1u << 5));
}

}  // namespace

const char* to_string(IsaLevel level) {
  return row(level).name;
}

IsaLevel detected_isa() {
  if (has_amx_bf16()) return IsaLevel::kAmx;
  if (has_avx512()) return IsaLevel::kAvx512;
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return IsaLevel::kAvx2;
  return __builtin_cpu_supports("sse4.2") ? IsaLevel::kSse4 : IsaLevel::kBaseline;
}

IsaLevel requested_isa() {
  const char* value = std::getenv("GESSO_ISA");
  if (!value || !*value) return IsaLevel::kAmx;
  std::string known;
  for (const Level& level : kLevels) {
    if (std::string_view(value) == level.name) return level.level;
    known += (known.empty() ? "" : ", ") + std::string(level.name);
  }
  fail(ErrorCode::kUsage, "GESSO_ISA is '{}': give one of {}, or leave it unset", value, known);
}

void apply_isa_cap(IsaLevel cap) {
  hwy::DisableTargets(row(cap).kernels);
  if (cap == IsaLevel::kAmx || cap > detected_isa()) return;
  if (dnnl_set_max_cpu_isa(row(cap).dnnl) == dnnl_success) return;
  // It refuses once a primitive exists; that is no error when the same or a lower cap holds already.
  const unsigned allowed = row(cap).dnnl, used = dnnl_get_effective_cpu_isa();
  if ((used & ~allowed) != 0)
    fail(ErrorCode::kInternal, "oneDNN cannot be capped at {} after its first use: apply the cap first",
         to_string(cap));
}

bool has_fast_bf16(IsaLevel cap) {
  // VDPBF16PS starts every cycle on Zen 4 (64 products; f32: 32) and every other on Golden Cove (32; f32: 64 on two
  // ports). A rule, no measurement: the same machine is to give the same bytes every time.
  __builtin_cpu_init();
  return cap == IsaLevel::kAmx && (has_amx_bf16() || (has_avx512_bf16() && __builtin_cpu_is("amd")));
}

}  // namespace gesso
