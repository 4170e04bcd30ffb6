#pragma once
#include <cstddef>

namespace gesso::cpu {

/// Uses of a thread's scratch memory that are alive at the same time: what an operation keeps while its tasks run, and
/// what one task needs.
enum class Scratch { kOperation, kTask };

/// At least `bytes` of the calling thread's memory, aligned to 64 bytes, contents undefined; valid until this thread
/// asks for the same use again. It grows to the largest request and is freed with the thread.
void* scratch(Scratch use, size_t bytes);

}  // namespace gesso::cpu
