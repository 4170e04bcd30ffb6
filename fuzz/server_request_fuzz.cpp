// Feeds any bytes to what reads requests before anybody is asked for a picture: targets, bodies of all APIs, base64.
// The first byte chooses.
#include <cstdint>
#include <filesystem>

#include "server/base64.h"
#include "server/http.h"
#include "server/request_decoder.h"

namespace {

void decode(uint8_t choice, std::string_view text) {
  static const server::ModelList models({}, {});
  static const server::UploadStore uploads(std::filesystem::temp_directory_path() / "gesso-fuzz-uploads");
  const server::DecoderContext context{models, {}, uploads};
  switch (choice % 8) {
    case 0:
      (void)server::make_order(context, server::decode_native(text, "jpeg", "90"));
      break;
    case 1:
      (void)server::make_order(context, server::decode_openai(text));
      break;
    case 2:
      (void)server::make_order(context, server::decode_sdapi(text));
      break;
    case 3:
      (void)server::make_order(context, server::decode_sdapi_over(text));
      break;
    case 4:
      (void)server::make_order(context, server::decode_openai_edit("multipart/form-data; boundary=b", text));
      break;
    case 5:
      (void)server::make_order(context, server::decode_openai_variation("", text));
      break;
    case 6: {
      server::Request request;
      (void)server::parse_target(text, request);
      break;
    }
    default:
      if (const auto bytes = server::base64_decode(text);
          bytes && server::base64_decode(server::base64_encode(*bytes)) != bytes)
        __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    decode(data[0], {reinterpret_cast<const char*>(data + 1), size - 1});
  } catch (const server::ApiError&) {
  }
  return 0;
}
