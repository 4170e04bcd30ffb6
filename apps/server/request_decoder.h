#pragma once
#include <map>
#include <string>
#include <vector>

#include "server/job.h"
#include "server/json.h"
#include "server/model_list.h"
#include "server/options.h"
#include "server/uploads.h"

namespace server {

/// What decoding needs to know.
struct DecoderContext {
  const ModelList& models;
  RequestLimits limits;
  const UploadStore& uploads;
};

/// A decoded request of any API.
struct Decoded {
  Json fields = Json::object();  ///< of the request schema
  /// Pictures that came along, as files' bytes, by the field that would name the file.
  std::map<std::string, std::string> pictures = {};
  std::string format = "png";              ///< "png", "jpg", "webp"
  int quality = 0;                         ///< 0: the format's default
  bool stream = false;                     ///< OpenAI
  int partial_images = 0;                  ///< OpenAI, of a stream: previews of each picture
  bool url = false;                        ///< OpenAI: the answer holds addresses, not bytes
  bool send = true;                        ///< A1111: the answer holds the pictures
  bool save = false;                       ///< A1111: keep them
  Json original = {};                      ///< A1111: as it was asked
  std::string size = {};                   ///< OpenAI: as it was asked
  std::vector<std::string> warnings = {};  ///< what was asked and is not done, where a picture is still of use
};

/// POST /api/v1/jobs: the request schema, with pictures in base64 in place of their files' names; the query may say
/// ?format= and &quality=.
Decoded decode_native(std::string_view body, std::string_view format, std::string_view quality);
/// POST /v1/images/generations, with fields of the request schema besides.
Decoded decode_openai(std::string_view body);
/// POST /v1/images/edits (a picture, a mask whose transparent part is painted anew, a prompt) and /variations (a
/// picture alone): a form, or JSON with pictures in base64.
Decoded decode_openai_edit(std::string_view content_type, std::string_view body);
Decoded decode_openai_variation(std::string_view content_type, std::string_view body);
/// POST /sdapi/v1/txt2img and img2img.
Decoded decode_sdapi(std::string_view body);
Decoded decode_sdapi_over(std::string_view body);

/// Whether a field of the schema names a model file.
bool is_model_field(const std::string& name);
/// Puts files in place of models' names, and the default model where none is named. Returns the names, by field. Throws
/// ApiError: 404 with the models that there are.
std::vector<std::pair<std::string, std::string>> name_models(const ModelList& models, Json& fields);

/// Checks the fields against the schema and the server's limits, and puts files in place of models' names. Throws
/// ApiError: 400 with the field, 404 with the models that there are, 501 for what the engine cannot do.
JobOrder make_order(const DecoderContext& context, const Decoded& decoded);

/// The schema's property of this name, or null.
const Json* schema_property(const std::string& name);
const Json& schema();
/// The names that a property may have, as an array.
Json schema_choices(const std::string& name);

/// The bytes of a picture in base64. Throws ApiError 400 naming the field where the value is no text, no base64, or no
/// picture of a known format.
std::string picture_of(const std::string& field, const Json& value);
/// Makes pictures of the fields that hold some in base64. Throws as picture_of does.
void take_pictures(Decoded& decoded);
/// The same check of bytes.
void expect_picture(const std::string& field, std::string_view bytes);

/// "png", "jpg" or "webp" of the names that people use for them. Throws ApiError 400 naming the field.
std::string picture_format(const std::string& field, const std::string& name);

}  // namespace server
