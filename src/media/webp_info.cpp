#include <webp/mux.h>

#include <memory>

#include "base/error.h"
#include "media/containers.h"
#include "media/exif.h"
#include "media/xmp.h"

namespace gesso {
namespace {

struct Delete {
  void operator()(WebPMux* mux) const { WebPMuxDelete(mux); }
};
using Mux = std::unique_ptr<WebPMux, Delete>;

WebPData data_of(std::string_view bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}
std::string_view bytes_of(const WebPData& data) {
  return {reinterpret_cast<const char*>(data.bytes), data.size};
}

/// The container, borrowing `webp`; null when it is damaged.
Mux open(std::string_view webp) {
  const WebPData data = data_of(webp);
  return Mux(WebPMuxCreate(&data, 0));
}

std::string_view chunk(const Mux& mux, const char* name) {
  WebPData data{};
  if (!mux || WebPMuxGetChunk(mux.get(), name, &data) != WEBP_MUX_OK) return {};
  return bytes_of(data);
}

/// Replaces a chunk; an empty text removes it.
bool set_chunk(const Mux& mux, const char* name, const std::string& bytes) {
  WebPMuxDeleteChunk(mux.get(), name);
  const WebPData data = data_of(bytes);
  return bytes.empty() || WebPMuxSetChunk(mux.get(), name, &data, 1) == WEBP_MUX_OK;
}

}  // namespace

PictureInfo read_webp_info(std::string_view webp) {
  const Mux mux = open(webp);
  return {parse_exif(chunk(mux, "EXIF")).user_comment, parse_xmp(chunk(mux, "XMP "))};
}

std::string with_webp_info(std::string_view webp, const PictureInfo& info) {
  const Mux mux = open(webp);
  WebPData assembled{};
  const bool done = mux && set_chunk(mux, "EXIF", info.parameters.empty() ? "" : build_exif(info.parameters)) &&
                    set_chunk(mux, "XMP ", info.request_json.empty() ? "" : build_xmp(info.request_json)) &&
                    WebPMuxAssemble(mux.get(), &assembled) == WEBP_MUX_OK;
  const std::unique_ptr<WebPData, void (*)(WebPData*)> owned(&assembled, WebPDataClear);
  if (!done) fail(ErrorCode::kBadFile, "the WebP is damaged: cannot put the parameters into it");
  return std::string(bytes_of(assembled));
}

std::string_view webp_exif(std::string_view webp) {
  return chunk(open(webp), "EXIF");  // the container only borrows: the bytes are those of `webp`
}

}  // namespace gesso
