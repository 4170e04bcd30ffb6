#pragma once

namespace gesso {

/// Instruction set levels the CPU kernels are compiled for, lowest first. kAmx stands for everything beyond AVX-512
/// too (AVX512-BF16, VNNI): it caps nothing.
enum class IsaLevel { kBaseline, kSse4, kAvx2, kAvx512, kAmx };

/// "baseline", "sse4", ... as GESSO_ISA spells them.
const char* to_string(IsaLevel level);

/// The highest level this machine (CPU and operating system) can run.
IsaLevel detected_isa();

/// The level the environment variable GESSO_ISA asks for; kAmx when it is unset or empty. Throws kUsage listing the
/// levels when it is none of them.
IsaLevel requested_isa();

/// Caps our kernels and oneDNN, for the whole process, at `cap`; a cap above detected_isa() changes nothing. To be
/// called before the first oneDNN primitive is made; throws kInternal when oneDNN already uses a higher level. oneDNN's
/// lowest level is SSE4.1, so kBaseline leaves it that.
void apply_isa_cap(IsaLevel cap);

/// Whether bf16 products under `cap` are faster than those of f32: with AMX, or with AVX512-BF16 on AMD's processors.
/// Intel's have that instruction too, at half the rate of f32 products.
bool has_fast_bf16(IsaLevel cap);

}  // namespace gesso
