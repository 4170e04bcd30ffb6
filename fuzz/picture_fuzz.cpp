// Feeds any bytes to the picture decoders and the readers of their metadata.
#include <cstdlib>

#include "base/error.h"
#include "media/codec.h"
#include "media/origin.h"
#include "media/parameters.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  gesso::parse_parameters(gesso::read_picture_info(bytes).parameters);
  gesso::picture_origin(bytes);
  try {
    const gesso::Image image = gesso::decode_image(bytes, "fuzz");
    if (static_cast<int64_t>(image.pixels.size()) != int64_t{image.width} * image.height * image.channels) std::abort();
  } catch (const gesso::Error&) {
  }
  return 0;
}
