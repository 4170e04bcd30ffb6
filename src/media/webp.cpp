#include <webp/decode.h>
#include <webp/encode.h>

#include <memory>

#include "base/error.h"
#include "media/codec.h"
#include "media/codecs.h"

namespace gesso {
namespace {

struct Writer {
  Writer() {
    WebPMemoryWriterInit(&memory);
    if (!WebPPictureInit(&picture)) fail(ErrorCode::kInternal, "libwebp is of another version than its headers");
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = &memory;
  }
  ~Writer() {
    WebPPictureFree(&picture);
    WebPMemoryWriterClear(&memory);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  WebPPicture picture;
  WebPMemoryWriter memory;
};

WebPConfig config_for(int quality, bool lossless) {
  WebPConfig config;
  if (!WebPConfigInit(&config)) fail(ErrorCode::kInternal, "libwebp is of another version than its headers");
  config.quality = static_cast<float>(quality);
  if (lossless) WebPConfigLosslessPreset(&config, 6);
  config.exact = 1;
  return config;
}

}  // namespace

Image decode_webp(std::string_view bytes, std::string_view name) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(data, bytes.size(), &features) != VP8_STATUS_OK || features.width <= 0 || features.height <= 0)
    fail(ErrorCode::kBadFile, "{} is a damaged or truncated WebP", name);
  check_picture_size(features.width, features.height, name);
  if (features.has_animation)
    fail(ErrorCode::kUnsupported, "{} is an animated WebP: only still pictures are read; extract a frame first", name);
  Image image{features.width, features.height, features.has_alpha ? 4 : 3, {}};
  const int stride = image.width * image.channels;
  image.pixels.resize(static_cast<size_t>(stride) * static_cast<size_t>(image.height));
  const auto decode = image.channels == 4 ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  if (!decode(data, bytes.size(), image.pixels.data(), image.pixels.size(), stride))
    fail(ErrorCode::kBadFile, "{} is a damaged or truncated WebP", name);
  return image;
}

std::string encode_webp(const Image& image, int quality, bool lossless) {
  check_image(image);
  if (quality < 0 || quality > 100) fail(ErrorCode::kUsage, "WebP quality {}: expected 0 to 100", quality);
  if (image.width > WEBP_MAX_DIMENSION || image.height > WEBP_MAX_DIMENSION)
    fail(ErrorCode::kUnsupported, "a picture of {}x{} cannot be a WebP: at most {} a side; use .png", image.width,
         image.height, WEBP_MAX_DIMENSION);
  if (image.channels == 1) return encode_webp(to_rgb(image), quality, lossless);

  const WebPConfig config = config_for(quality, lossless);
  Writer writer;
  writer.picture.use_argb = lossless;
  writer.picture.width = image.width;
  writer.picture.height = image.height;
  const auto import = image.channels == 4 ? WebPPictureImportRGBA : WebPPictureImportRGB;
  if (!import(&writer.picture, image.pixels.data(), image.width * image.channels) ||
      !WebPEncode(&config, &writer.picture))
    fail(ErrorCode::kOutOfMemory, "cannot encode a WebP of {}x{}: libwebp error {}", image.width, image.height,
         static_cast<int>(writer.picture.error_code));
  return std::string(reinterpret_cast<const char*>(writer.memory.mem), writer.memory.size);
}

}  // namespace gesso
