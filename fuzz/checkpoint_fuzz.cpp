// Feeds any bytes to the pickle machine and to what reads tensors out of its values: as a bare pickle over storages of
// any size, and as a whole legacy checkpoint. What is accepted must lie inside the input.
#include <cstdlib>

#include "base/error.h"
#include "io/checkpoint.h"

namespace {

void check(const gesso::CheckpointTensors& found, uint64_t size) {
  for (const gesso::CheckpointTensor& t : found.tensors)
    if (t.info.offset > size || t.window_bytes > size - t.info.offset) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const gesso::Pickle pickle = gesso::read_pickle(bytes, "fuzz");
    constexpr uint64_t kStorage = 1 << 16;
    const auto find = [](std::string_view, uint64_t, uint64_t) { return gesso::StorageSpan{0, kStorage}; };
    check(gesso::collect_tensors(pickle, find, "fuzz"), kStorage);
  } catch (const gesso::Error&) {
  }
  try {
    check(gesso::parse_legacy_checkpoint(bytes, "fuzz"), size);
  } catch (const gesso::Error&) {
  }
  return 0;
}
