#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/kernels/peak.cpp"
#include "device/cpu/kernels/peak.h"

#include <hwy/foreach_target.h>

#include "device/cpu/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gesso::cpu::HWY_NAMESPACE {
namespace {

// Ten independent chains hide the latency of two units.
int64_t multiply_add_chains(int64_t steps, float* result) {
  V a = set(1.f), b = a, c = a, e = a, f = a, g = a, h = a, i = a, j = a, k = a;
  const V x = set(0.999f), y = set(1e-3f);
  for (int64_t s = 0; s < steps; ++s) {
    a = hn::MulAdd(a, x, y), b = hn::MulAdd(b, x, y), c = hn::MulAdd(c, x, y), e = hn::MulAdd(e, x, y);
    f = hn::MulAdd(f, x, y), g = hn::MulAdd(g, x, y), h = hn::MulAdd(h, x, y), i = hn::MulAdd(i, x, y);
    j = hn::MulAdd(j, x, y), k = hn::MulAdd(k, x, y);
  }
  const V sum =
      hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(hn::Add(f, g), hn::Add(hn::Add(h, i), hn::Add(j, k))));
  *result = hn::GetLane(sum);
  return steps * 20 * static_cast<int64_t>(kLanes);
}

}  // namespace
}  // namespace gesso::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace gesso::cpu {
namespace {

HWY_EXPORT(multiply_add_chains);

}  // namespace

int64_t f32_multiply_adds(int64_t steps) {
  volatile float sink = 0;  // somebody must want the sum
  float sum = 0;
  const int64_t operations = HWY_DYNAMIC_DISPATCH(multiply_add_chains)(steps, &sum);
  sink = sum;
  (void)sink;
  return operations;
}

#if defined(__x86_64__)

namespace {

/// The operand of ldtilecfg (Intel's manual, volume 1, section 18.3): eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t bytes_a_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

}  // namespace

bool enable_tiles() {
  static const bool enabled = [] {
    constexpr long kRequestPermission = 0x1023, kTileData = 18;  // arch_prctl(ARCH_REQ_XCOMP_PERM, XTILEDATA)
    return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return enabled;
}

// Four accumulators of 16x16 hide the latency of the unit; the operands stay zero, which costs it the same time.
#define GESSO_TILE_LOOP(PRODUCT)        \
  const TileConfig config;              \
  _tile_loadconfig(&config);            \
  _tile_zero(0);                        \
  _tile_zero(1);                        \
  _tile_zero(2);                        \
  _tile_zero(3);                        \
  _tile_zero(4);                        \
  _tile_zero(5);                        \
  for (int64_t s = 0; s < steps; ++s) { \
    PRODUCT(0, 4, 5);                   \
    PRODUCT(1, 4, 5);                   \
    PRODUCT(2, 4, 5);                   \
    PRODUCT(3, 4, 5);                   \
  }                                     \
  _tile_release();

__attribute__((target("amx-tile,amx-bf16"))) int64_t bf16_tile_products(int64_t steps) {
  GESSO_TILE_LOOP(_tile_dpbf16ps)
  return steps * 4 * 16 * 16 * 32 * 2;
}

__attribute__((target("amx-tile,amx-int8"))) int64_t int8_tile_products(int64_t steps) {
  GESSO_TILE_LOOP(_tile_dpbssd)
  return steps * 4 * 16 * 16 * 64 * 2;
}
#undef GESSO_TILE_LOOP

#else

bool enable_tiles() {
  return false;
}
int64_t bf16_tile_products(int64_t) {
  return 0;
}
int64_t int8_tile_products(int64_t) {
  return 0;
}

#endif

}  // namespace gesso::cpu
#endif
