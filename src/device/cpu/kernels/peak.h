#pragma once
#include <cstdint>

namespace gesso::cpu {

/// Loops of nothing but the arithmetic that networks spend their time in: the peak that every kernel is measured
/// against. Each runs `steps` rounds on this thread and returns how many operations that was (a multiply and an add are
/// two).
int64_t f32_multiply_adds(int64_t steps);

/// Asks the operating system for AMX tiles, once a process; false where there are none. The two below need it.
bool enable_tiles();
int64_t bf16_tile_products(int64_t steps);
int64_t int8_tile_products(int64_t steps);

}  // namespace gesso::cpu
