// Feeds any bytes to the safetensors reader. What it accepts must lie inside the input.
#include <cstdlib>

#include "base/error.h"
#include "io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto header = gesso::parse_safetensors(std::as_bytes(std::span(data, size)), "fuzz");
    for (const gesso::TensorInfo& t : header.tensors) {
      const uint64_t room = size - header.data_begin;
      if (t.offset > room || t.bytes > room - t.offset) std::abort();
      if (t.bytes != static_cast<uint64_t>(t.shape.elements() * gesso::size_of(t.dtype))) std::abort();
    }
  } catch (const gesso::Error&) {
  }
  return 0;
}
