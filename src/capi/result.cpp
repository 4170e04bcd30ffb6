// The results' half of the C interface: pictures, encoding, files; and what needs no engine.
#include "base/files.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "media/codec.h"
#include "media/metadata.h"
#include "media/names.h"
#include "media/origin.h"
#include "media/parameters.h"
#include "pipeline/request.h"

using namespace gesso;

namespace {

constexpr size_t kLargestPictureFile = size_t{512} << 20;

const Picture& picture_at(const gesso_result* result, size_t index) {
  if (index >= required(result, "result")->generated.pictures.size())
    fail(ErrorCode::kUsage, "no picture {}: the result has {}", index, result->generated.pictures.size());
  return result->generated.pictures[index];
}

std::string encode(const Image& image, PictureFormat format, int quality, const PictureInfo& info) {
  if (quality < 0 || quality > 100) fail(ErrorCode::kUsage, "quality: wanted 1 to 100, or 0, found {}", quality);
  EncodeOptions options;
  if (quality > 0) options = {.quality = quality, .lossless = quality == 100};
  return encode_image(image, format, options, info);
}

std::string encode(const Picture& picture, PictureFormat format, int quality) {
  return encode({picture.width, picture.height, picture.channels, picture.pixels}, format, quality,
                {picture.parameters, picture.request_json});
}

std::string encode(const gesso_event* event, PictureFormat format, int quality) {
  required(event, "event");
  if (event->kind != GESSO_EVENT_PREVIEW || !event->pixels || event->width <= 0 || event->height <= 0)
    fail(ErrorCode::kUsage, "the event shows no picture: it is no preview");
  check_picture_size(event->width, event->height, "the preview");
  const size_t bytes = 3 * static_cast<size_t>(event->width) * static_cast<size_t>(event->height);
  return encode({event->width, event->height, 3, {event->pixels, event->pixels + bytes}}, format, quality, {});
}

/// The request of a picture from anywhere, checked before anybody relies on it. Its file names lose their folders: a
/// picture must not choose files elsewhere on this computer.
Json request_of(const std::string& stored, const std::filesystem::path& picture) {
  try {
    return recipe_to_json(parse_request(stored), 0);
  } catch (const Error& error) {
    fail(ErrorCode::kBadFile, "{} holds a request that is not valid: {}", quoted(picture), error.what());
  }
}

}  // namespace

const char* gesso_version(void) {
  return GESSO_VERSION;
}

const char* gesso_schema(void) {
  static const std::string schema = to_text(request_schema(), 2);
  return schema.c_str();
}

const char* gesso_status_name(int status) {  // an int: a C caller may hand any number, which no enum may hold
  if (status == GESSO_OK) return "ok";
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code)
    if (static_cast<int>(to_status(static_cast<ErrorCode>(code))) == status)
      return to_string(static_cast<ErrorCode>(code));
  return "unknown";
}

gesso_status gesso_check_request(const char* request_json, gesso_error* error) {
  return guarded(error, [&] { parse_request(required(request_json, "request_json")); });
}

void gesso_free(void* memory) {
  std::free(memory);
}

void gesso_result_free(gesso_result* result) {
  delete result;
}

size_t gesso_result_count(const gesso_result* result) {
  return result ? result->generated.pictures.size() : 0;
}

gesso_status gesso_result_picture(const gesso_result* result, size_t index, gesso_picture* picture,
                                  gesso_error* error) {
  return guarded(error, [&] {
    const Picture& found = picture_at(result, index);
    *required(picture, "picture") = {found.width,
                                     found.height,
                                     found.channels,
                                     found.pixels.data(),
                                     found.parameters.c_str(),
                                     found.request_json.c_str(),
                                     found.seed};
  });
}

const char* gesso_result_request(const gesso_result* result) {
  return result ? result->request.c_str() : "";
}

gesso_status gesso_encode_picture(const gesso_result* result, size_t index, const char* format, int quality,
                                  uint8_t** bytes, size_t* size, gesso_error* error) {
  return guarded(error, [&] {
    required(bytes, "bytes");
    required(size, "size");
    const Picture& picture = picture_at(result, index);
    const PictureFormat wanted = picture_format(std::string("picture.") + required(format, "format"));
    const std::string encoded = encode(picture, wanted, quality);
    *bytes = reinterpret_cast<uint8_t*>(copy_out(encoded));
    *size = encoded.size();
  });
}

char* gesso_save_pictures(const gesso_result* result, const char* name, int64_t first, int quality,
                          gesso_error* error) {
  char* text = nullptr;
  guarded(error, [&] {
    const std::vector<Picture>& pictures = required(result, "result")->generated.pictures;
    OutputNames names(required(name, "name"), static_cast<int>(pictures.size()),
                      first < 0 ? std::nullopt : std::optional(first));
    auto written = Json::array();
    for (const Picture& picture : pictures)
      written.push_back(names.write(encode(picture, names.format(), quality)).string());
    text = copy_out(to_text(written));
  });
  return text;
}

gesso_status gesso_encode_preview(const gesso_event* event, const char* format, int quality, uint8_t** bytes,
                                  size_t* size, gesso_error* error) {
  return guarded(error, [&] {
    required(bytes, "bytes");
    required(size, "size");
    const PictureFormat wanted = picture_format(std::string("picture.") + required(format, "format"));
    const std::string encoded = encode(event, wanted, quality);
    *bytes = reinterpret_cast<uint8_t*>(copy_out(encoded));
    *size = encoded.size();
  });
}

gesso_status gesso_save_preview(const gesso_event* event, const char* path, int quality, gesso_error* error) {
  return guarded(error, [&] {
    const PictureFormat format = picture_format(required(path, "path"));
    const std::string encoded = encode(event, format, quality);
    AtomicFile file(path);
    file.write(encoded);
    file.commit();
  });
}

gesso_status gesso_check_picture_name(const char* name, gesso_error* error) {
  return guarded(error, [&] { picture_format(required(name, "name")); });
}

char* gesso_read_picture_request(const char* path, gesso_error* error) {
  char* text = nullptr;
  guarded(error, [&] {
    const std::filesystem::path file(required(path, "path"));
    const std::string bytes = read_file(file, kLargestPictureFile);
    if (!sniff_picture(bytes)) fail(ErrorCode::kBadFile, "{} is not a PNG, JPEG or WebP picture", quoted(file));
    const std::string request = read_picture_info(bytes).request_json;
    if (request.empty())
      fail(ErrorCode::kUsage, "{} holds no request: only pictures that Gesso wrote with their metadata do",
           quoted(file));
    text = copy_out(to_text(request_of(request, file)));
  });
  return text;
}

char* gesso_picture_info(const uint8_t* bytes, size_t size, gesso_error* error) {
  char* text = nullptr;
  guarded(error, [&] {
    const std::string_view file(reinterpret_cast<const char*>(required(bytes, "bytes")), size);
    if (!sniff_picture(file)) fail(ErrorCode::kBadFile, "this is not a PNG, JPEG or WebP picture");
    const PictureInfo info = read_picture_info(file);
    const PictureOrigin origin = picture_origin(file);
    Json fields = Json::object(), texts = Json::array(), request;
    if (!origin.program.empty()) {
      fields["Prompt"] = origin.parameters.prompt;
      fields["Negative prompt"] = origin.parameters.negative;
    }
    for (const auto& [name, value] : origin.parameters.fields) fields[name] = value;
    for (const auto& [key, value] : origin.texts) texts.push_back({{"key", key}, {"text", value}});
    std::string complaint;
    try {
      if (!info.request_json.empty()) request = request_of(info.request_json, "the picture");
    } catch (const Error& invalid) {  // of another version, or not ours: what else the picture says is worth having
      complaint = invalid.what();
    }
    if (request.is_object()) {  // A1111's text cannot tell a prompt that looks like its other lines
      fields["Prompt"] = request["prompt"];
      fields["Negative prompt"] = request.value("negative_prompt", "");
    }
    text = copy_out(to_text({{"program", origin.program},
                             {"parameters", info.parameters},
                             {"fields", fields},
                             {"request", request},
                             {"request_error", complaint},
                             {"texts", texts}}));
  });
  return text;
}
