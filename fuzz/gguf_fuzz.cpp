// Feeds any bytes to the GGUF reader, and the blocks it accepts to the dequantisers. What it accepts must lie inside
// the input.
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "io/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gesso;
  try {
    const auto header = parse_gguf(std::as_bytes(std::span(data, size)), "fuzz");
    for (const TensorInfo& t : header.tensors) {
      const uint64_t room = size - header.data_begin;
      if (t.bytes == 0) continue;
      if (t.offset > room || t.bytes > room - t.offset) std::abort();
      const auto bytes = byte_size(t.dtype, t.shape.elements());
      if (!bytes || t.bytes != static_cast<uint64_t>(*bytes)) std::abort();
      std::vector<float> values(static_cast<size_t>(t.shape.elements()));
      convert_to_f32(t.dtype, data + header.data_begin + t.offset, values.data(), t.shape.elements());
    }
  } catch (const Error&) {
  }
  return 0;
}
